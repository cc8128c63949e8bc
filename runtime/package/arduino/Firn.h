/* The one header that a sketch includes. It is not part of the runtime. */
#ifndef FIRN_ARDUINO_H
#define FIRN_ARDUINO_H

#include "runtime/decode/decode.h"
#include "runtime/decode/sampling.h"
#include "runtime/firn.h"
#include "runtime/plan_slots.h"
#include "runtime/port_test.h"

#endif
