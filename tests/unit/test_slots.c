/* Tests the two slots for plans: which plan is chosen, trial boots, confirmation, roll-back, and power cuts at every
 * operation of flash and counter, whole and torn. `test_slots` prints how many cut points it tried. */
#include <stdio.h>
#include <string.h>

#include "plan/signature.h"
#include "plan/slots/layout.h"
#include "tests/unit/support_sealed_runs.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_slots.h"
#include "tests/unit/support_test.h"

static signed_plan old, new, rolled_back, newest;
static slots_device device;

BEFORE_ALL {
    slots_plan_make(&old, 1, 1);
    slots_plan_make(&new, 2, 2);
    slots_plan_make(&rolled_back, 9, 1);
    slots_plan_make(&newest, 3, 2);
}

/* A device that runs the old plan from slot 0, confirmed. */
static void make_device(uint32_t program_unit, uint32_t erase_unit, uint8_t erased_value) {
    const uint64_t plan_bytes = (old.bytes + erase_unit - 1) / erase_unit * erase_unit;
    const uint64_t trailer =
        (2 * (program_unit > 64 ? program_unit : 64) + 9 * program_unit + erase_unit - 1) / erase_unit * erase_unit;
    slots_device_make(&device, plan_bytes + trailer, program_unit, erase_unit, erased_value, old.key);
    slots_device_put(&device, 0, &old);
    device.counter = 1;
}

static const signed_plan *running(void) {
    firn_info info;
    uint8_t hash[32];
    assert_int_equal(firn_describe(&device.opened.firn, &info), FIRN_OK);
    const signed_plan *const all[] = {&old, &new, &rolled_back, &newest};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(firn_sha256_of(all[i]->file, FIRN_HEADER_BYTES, hash), FIRN_OK);
        if (memcmp(hash, info.plan_hash, sizeof hash) == 0)
            return all[i];
    }
    return NULL;
}

static uint8_t state_of(uint32_t slot) {
    firn_slot_contents contents;
    assert_int_equal(firn_slots_read(&device.slots, slot, &contents), FIRN_OK);
    return contents.state;
}

static int confirm(void) {
    return firn_slots_confirm(&device.slots, device.running, &device.opened.firn);
}

/* --- choosing --- */

TEST(an_update_is_tried_and_confirmed) {
    make_device(8, 512, 0xff);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &old);
    assert_int_equal(device.choice.trial, 0);
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(device.answer.committed, 1);
    assert_true(firn_update_is_complete(&device.update));
    assert_int_equal(state_of(1), FIRN_SLOT_TRIAL);
    assert_int_equal(support_flash_most_erases(&device.flash), 1); /* what an update costs each erase unit */
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &new);
    assert_int_equal(device.choice.trial, 1);
    assert_int_equal(device.counter, 1);
    assert_int_equal(confirm(), FIRN_OK);
    assert_int_equal(device.counter, 2);
    assert_int_equal(state_of(1), FIRN_SLOT_CONFIRMED);
    const uint64_t before = device.flash.operations;
    assert_int_equal(confirm(), FIRN_OK); /* writes nothing twice */
    assert_int_equal(device.flash.operations, before);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &new);
    assert_int_equal(device.choice.trial, 0);
    /* The next goes where the old one was. */
    assert_int_equal(slots_device_flash(&device, &newest), FIRN_OK);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &newest);
    assert_int_equal(device.running, 0);
    slots_device_free(&device);
}

TEST(a_plan_that_is_not_confirmed_is_given_up) {
    make_device(16, 1024, 0xff);
    device.slots.trials = 2;
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(slots_device_boot(&device), FIRN_OK);
        assert_ptr_equal(running(), &new);
        assert_int_equal(device.choice.trial, i);
    }
    assert_int_equal(state_of(1), FIRN_SLOT_SPENT);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(slots_device_boot(&device), FIRN_OK);
        assert_ptr_equal(running(), &old);
    }
    assert_int_equal(device.counter, 1);
    /* It may be sent again, and is then written again. */
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &new);
    assert_int_equal(device.choice.trial, 1);
    /* Without another plan, it is better than none. */
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    memset(device.flash.bytes, 0, 64);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &new);
    assert_true(device.choice.spent);
    slots_device_free(&device);
}

TEST(a_plan_that_is_refused_falls_back) {
    make_device(8, 512, 0x00);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    device.flash.bytes[device.parts[1].first + FIRN_PAYLOAD_OFFSET + 100] ^= 4;
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &old);
    /* A version that nobody signed raises no plan. */
    device.flash.bytes[device.parts[0].first + 36] ^= 0x10;
    assert_int_equal(slots_device_boot(&device), FIRN_ERROR_NO_PLAN);
    slots_device_free(&device);
}

TEST(a_plan_is_not_rolled_back) {
    make_device(8, 512, 0xff);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(confirm(), FIRN_OK);
    const uint64_t before = device.flash.operations;
    assert_int_equal(slots_device_flash(&device, &rolled_back), FIRN_ERROR_SECURITY_COUNTER);
    assert_int_equal(slots_device_flash(&device, &old), FIRN_ERROR_SECURITY_COUNTER);
    assert_int_equal(device.flash.operations, before); /* the old plan is still there */
    /* Even one that somebody writes past all of this does not run. */
    slots_device_put(&device, 0, &rolled_back);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &new);
    slots_device_free(&device);
}

TEST(the_last_confirmed_plan_is_not_erased) {
    make_device(8, 512, 0xff);
    uint32_t target;
    assert_int_equal(firn_slots_target(&device.slots, FIRN_SLOT_NONE, &target), FIRN_OK);
    assert_int_equal(target, 1);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_ptr_equal(running(), &new);
    const uint64_t before = device.flash.operations;
    assert_int_equal(slots_device_flash(&device, &newest), FIRN_ERROR_UNCONFIRMED);
    assert_int_equal(device.flash.operations, before);
    assert_int_equal(firn_slots_target(&device.slots, FIRN_SLOT_NONE, &target), FIRN_OK);
    assert_int_equal(target, 0); /* what is worth less, if nothing runs */
    assert_int_equal(confirm(), FIRN_OK);
    assert_int_equal(slots_device_flash(&device, &newest), FIRN_OK);
    slots_device_free(&device);
}

TEST(confirming_needs_the_plan_and_a_step) {
    make_device(8, 512, 0xff);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    assert_int_equal(firn_slots_confirm(&device.slots, 1, &device.opened.firn), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_slots_confirm(&device.slots, 2, &device.opened.firn), FIRN_ERROR_ARGUMENT);
    assert_int_equal(firn_slots_confirm(NULL, 0, &device.opened.firn), FIRN_ERROR_ARGUMENT);
    assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
    assert_int_equal(firn_slots_confirm(&device.slots, 1, &device.opened.firn), FIRN_ERROR_ARGUMENT);
    assert_int_equal(state_of(1), FIRN_SLOT_TRIAL);
    memset(&device.opened.firn, 0, sizeof device.opened.firn);
    assert_int_equal(firn_slots_confirm(&device.slots, 0, &device.opened.firn), FIRN_ERROR_NOT_OPEN);
    slots_device_free(&device);
}

TEST(layouts_are_checked) {
    firn_slot_layout layout;
    assert_true(firn_slot_lay_out(8192, 8, 512, &layout));
    assert_int_equal(layout.trailer, 8192 - 512);
    assert_int_equal(layout.commit, layout.receipt + 64);
    assert_int_equal(layout.trials, layout.commit + 64);
    assert_int_equal(layout.confirmed, layout.trials + 64);
    assert_true(firn_slot_lay_out(16384, 256, 256, &layout));
    assert_int_equal(layout.trailer, 16384 - 11 * 256);
    assert_false(firn_slot_lay_out(8192, 0, 512, &layout));
    assert_false(firn_slot_lay_out(8192, 24, 512, &layout));
    assert_false(firn_slot_lay_out(8192, 512, 512, &layout));
    assert_false(firn_slot_lay_out(8192, 8, 12, &layout));
    assert_false(firn_slot_lay_out(8200, 8, 512, &layout));
    assert_false(firn_slot_lay_out(512, 8, 512, &layout));
    assert_false(firn_slot_lay_out(0, 8, 512, &layout));
    assert_int_equal(firn_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926u);
}

/* --- power cuts --- */

static uint64_t cut_points, resumed;

/* What the device had said before the power went off. */
static bool said_committed, said_confirmed;

/* The life of a device until the new plan is confirmed: boots, works, confirms, takes the update. Returns false when
 * the power goes off. */
static bool live(void) {
    for (;;) {
        const int booted = slots_device_boot(&device);
        if (device.flash.off)
            return false;
        assert_int_equal(booted, FIRN_OK); /* never none */
        const signed_plan *plan = running();
        assert_true(plan == &old || plan == &new);
        if (said_confirmed)
            assert_ptr_equal(plan, &new);
        const int confirmed = confirm();
        if (device.flash.off)
            return false;
        assert_int_equal(confirmed, FIRN_OK);
        if (plan == &new) {
            said_confirmed = true;
            assert_int_equal(device.counter, 2);
            return true;
        }
        assert_false(said_committed);
        const int flashed = slots_device_flash(&device, &new);
        if (device.flash.off)
            return false;
        assert_int_equal(flashed, FIRN_OK);
        said_committed = true;
    }
}

/* Boots after a cut, as the first thing: exactly the old plan or the new one runs. */
static void check_after_cut(uint32_t counter_before) {
    support_flash_power_on(&device.flash);
    assert_true(device.counter >= counter_before);
    assert_int_equal(slots_device_boot(&device), FIRN_OK);
    const signed_plan *plan = running();
    assert_true(plan == &old || plan == &new);
    if (said_committed || device.counter == 2)
        assert_ptr_equal(plan, &new);
}

static void begin_life(const support_flash *at_first) {
    support_flash_copy(&device.flash, at_first);
    device.counter = 1;
    said_committed = said_confirmed = false;
}

/* Cuts a life at operation `cut` (if `again` is not 0, and the one after it at operation `again`), and lets it end. */
static void cut_life(const support_flash *at_first, uint64_t cut, uint64_t again, support_flash_fault fault) {
    begin_life(at_first);
    support_flash_fail(&device.flash, cut, fault);
    assert_false(live());
    check_after_cut(1);
    cut_points++;
    const uint32_t counter = device.counter;
    if (again != 0) {
        support_flash_fail(&device.flash, again, fault);
        if (!live()) {
            check_after_cut(counter);
            cut_points++;
        }
        support_flash_power_on(&device.flash);
    }
    const uint64_t sent = device.sent;
    assert_true(live());
    if (device.sent - sent < new.bytes)
        resumed++;
    assert_int_equal(state_of(1), FIRN_SLOT_CONFIRMED);
}

static void sweep(uint32_t program_unit, uint32_t erase_unit, uint8_t erased_value, uint64_t every, uint64_t again) {
    make_device(program_unit, erase_unit, erased_value);
    support_flash at_first;
    support_flash_make(&at_first, device.flash.capacity, program_unit, erase_unit, erased_value);
    /* The other slot has held a plan that was given up: there is something to erase. */
    slots_device_put(&device, 1, &rolled_back);
    device.flash.bytes[device.parts[1].first] ^= 0xff;
    support_flash_copy(&at_first, &device.flash);
    begin_life(&at_first);
    assert_true(live());
    const uint64_t operations = device.flash.operations;
    for (support_flash_fault fault = SUPPORT_FLASH_CUT; fault < SUPPORT_FLASH_FAULTS; fault++)
        for (uint64_t cut = 1; cut <= operations; cut += every) {
            if (support_takes_next())
                cut_life(&at_first, cut, again == 0 ? 0 : 1 + (cut * again) % operations, fault);
        }
    support_flash_free(&at_first);
    slots_device_free(&device);
}

TEST(every_cut_leaves_the_old_plan_or_the_new) {
    static const struct {
        uint32_t program_unit, erase_unit;
        uint8_t erased_value;
    } kinds[] = {{2, 512, 0xff}, {4, 256, 0xff}, {8, 2048, 0xff}, {16, 1024, 0x00}, {64, 512, 0x00}, {256, 4096, 0xff}};
    sealed_signatures_are_checked = false; /* their place is in other tests; so torn headers must be found without */
    cut_points = resumed = 0;
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        sweep(kinds[i].program_unit, kinds[i].erase_unit, kinds[i].erased_value, 1, 0);
    const uint64_t once = cut_points;
    sweep(8, 512, 0xff, 1, 7);
    sealed_signatures_are_checked = true;
    printf("cut points of updates: %llu, %llu of them second cuts; after %llu the transfer did not begin anew\n",
           (unsigned long long)cut_points, (unsigned long long)(cut_points - once), (unsigned long long)resumed);
    assert_true(cut_points > 10000 / support_every());
    assert_true(resumed > cut_points / 2);
}

/* Flash or a counter that refuses one operation, with the power on: whoever asked is told, and asks again. */
TEST(every_refused_operation_is_survived) {
    make_device(16, 1024, 0xff);
    support_flash at_first;
    support_flash_make(&at_first, device.flash.capacity, 16, 1024, 0xff);
    support_flash_copy(&at_first, &device.flash);
    sealed_signatures_are_checked = false;
    begin_life(&at_first);
    assert_true(live());
    const uint64_t operations = device.flash.operations;
    for (uint64_t at = 1; at <= operations; at++) {
        if (!support_takes_next())
            continue;
        begin_life(&at_first);
        support_flash_fail(&device.flash, at, SUPPORT_FLASH_REFUSED);
        const signed_plan *plan = NULL;
        for (int boots = 0; plan != &new; boots++) {
            assert_true(boots < 4);
            assert_int_equal(slots_device_boot(&device), FIRN_OK);
            plan = running();
            assert_true(plan == &old || plan == &new);
            if (confirm() != FIRN_OK)
                assert_int_equal(confirm(), FIRN_OK);
            if (plan == &old && slots_device_flash(&device, &new) != FIRN_OK)
                assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
        }
        assert_int_equal(device.counter, 2);
        assert_int_equal(state_of(1), FIRN_SLOT_CONFIRMED);
    }
    sealed_signatures_are_checked = true;
    support_flash_free(&at_first);
    slots_device_free(&device);
}

/* A new plan that never works: with a cut anywhere, its trial boots stay bounded, and the old plan comes back. */
TEST(every_cut_in_a_trial_leads_back) {
    uint64_t points = 0;
    sealed_signatures_are_checked = false;
    for (support_flash_fault fault = SUPPORT_FLASH_CUT; fault < SUPPORT_FLASH_FAULTS; fault++)
        for (uint64_t cut = 1; cut <= 4; cut++) {
            make_device(8, 512, 0xff);
            assert_int_equal(slots_device_boot(&device), FIRN_OK);
            assert_int_equal(slots_device_flash(&device, &new), FIRN_OK);
            support_flash_fail(&device.flash, cut, fault);
            uint32_t tried = 0, boots = 0;
            const signed_plan *plan = NULL;
            while (plan != &old) {
                const int booted = slots_device_boot(&device);
                assert_true(++boots < 10);
                if (device.flash.off) {
                    support_flash_power_on(&device.flash);
                    points++;
                    continue;
                }
                assert_int_equal(booted, FIRN_OK);
                plan = running();
                tried += plan == &new;
            }
            assert_true(tried >= 2 && tried <= 3);
            assert_int_equal(device.counter, 1);
            slots_device_free(&device);
        }
    sealed_signatures_are_checked = true;
    printf("cut points of trial boots: %llu\n", (unsigned long long)points);
    assert_true(points >= 9);
}
