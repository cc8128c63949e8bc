// What Google's own verifier says of a buffer. plan_generated.h is made by flatc when the test runs.
#include "oracle.h"

#include "plan_generated.h"

extern "C" int oracle_accepts(const uint8_t *buffer, size_t bytes) {
    flatbuffers::Verifier verifier(buffer, bytes);
    return firn::VerifyPlanBuffer(verifier) ? 1 : 0;
}
