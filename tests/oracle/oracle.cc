/* The oracle: the C++ verifier of flatbuffers. flatc generates plan_generated.h when the test runs. */
#include "oracle.h"

#include "plan_generated.h"

extern "C" int oracle_accepts(const uint8_t *buffer, size_t bytes) {
    flatbuffers::Verifier verifier(buffer, bytes);
    return firn::VerifyPlanBuffer(verifier) ? 1 : 0;
}
