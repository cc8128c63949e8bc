#ifndef FIRN_RV32_ASSERT_H
#define FIRN_RV32_ASSERT_H

#define static_assert _Static_assert

#endif
