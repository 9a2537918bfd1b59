/* SPDX-License-Identifier: Apache-2.0 */
/* Two models and a control loop under FreeRTOS:
 *
 *   control   every CONTROL_PERIOD ticks, has to be done before the next one; highest priority, never touches the arena
 *   listen    every LISTEN_PERIOD ticks an inference of the model listen, in one go
 *   look      inferences of the model look one after the other, in slices: between two steps it gives up where listen
 *             waits for the arena, and begins anew
 *
 * Both models run on one arena, which a mutex guards from the first byte of the input to the last of the output.
 * README.md says what to take care of. */
#include <string.h>

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "app.h"
#include "models.h"

#define WORDS(bytes) (((bytes) + sizeof(StackType_t) - 1u) / sizeof(StackType_t))

/* A static array can have the alignment that the models want; pvPortMalloc gives 8 bytes, and a run refuses less than
 * the arena's with NNCC_ERR_ALIGN. */
static uint8_t arena[NNCC_MODELS_ARENA_BYTES] __attribute__((aligned(NNCC_MODELS_ARENA_ALIGN)));
static SemaphoreHandle_t arena_free;
static StaticSemaphore_t arena_free_memory;
static volatile uint32_t listen_waits; /* listen wants the arena */

static StackType_t control_stack[WORDS(TASK_STACK_BYTES)];
static StackType_t listen_stack[WORDS(TASK_STACK_BYTES + LISTEN_STACK_BYTES)];
static StackType_t look_stack[WORDS(TASK_STACK_BYTES + LOOK_STACK_BYTES)];
static StackType_t report_stack[WORDS(TASK_STACK_BYTES)];
static StackType_t idle_stack[configMINIMAL_STACK_SIZE];
static StaticTask_t control_task, listen_task, look_task, report_task, idle_task;
static TaskHandle_t listen_handle, look_handle;

/* How it went; each is written by one task alone. */
static volatile uint32_t controls, missed, latest; /* releases, those done too late, clocks from tick to done at most */
static volatile float level;                       /* what control computes */
static volatile uint32_t listens, listen_wrong, looks, look_wrong, given_up;
static uint8_t listen_first[LISTEN_OUTPUT_BYTES], look_first[LOOK_OUTPUT_BYTES];

/* Clocks since the last tick: SysTick counts down from its reload value. */
static uint32_t clocks_since_tick(void)
{
    return *(volatile uint32_t *)0xE000E014u - *(volatile uint32_t *)0xE000E018u;
}

/* A filter: what control computes in its turn n, from what it had in the turn before. */
static float filtered(float before, uint32_t turn)
{
    return before + ((float)(turn % 16u) - before) * 0.25f;
}

/* The task with a deadline. It computes in float, and so do the kernels of the models, Helium's for int8 in the same
 * registers: they have to survive every switch of tasks. */
static void control(void *unused)
{
    TickType_t release = xTaskGetTickCount();
    float now = 0.0f;

    (void)unused;
    for (;;) {
        const uint32_t turn = controls + 1u;
        uint32_t clocks;

        /* pdFALSE: the next release is in the past already, so the last one was done too late. */
        if (xTaskDelayUntil(&release, CONTROL_PERIOD) == pdFALSE) {
            missed++;
        }
        now = filtered(now, turn);
        level = now;
        controls = turn;
        clocks = clocks_since_tick();
        latest = (clocks > latest) ? clocks : latest;
    }
}

/* What comes from a camera; the same every time, so that every result has to be the same. The input is of any type. */
#define SENSE(input, count, dark, light) \
    do { \
        int32_t at_; \
        for (at_ = 0; at_ < (int32_t)(count); at_++) { \
            (input)[at_] = (at_ % 27 < 4) ? (light) : (dark); \
        } \
    } while (0)

/* Keeps the first result; 1 where another one differs from it. */
static uint32_t differs(uint8_t *first, const void *output, size_t bytes, uint32_t count)
{
    if (count == 0u) {
        memcpy(first, output, bytes);
    }
    return (memcmp(first, output, bytes) != 0) ? 1u : 0u;
}

static void listen(void *unused)
{
    TickType_t release = xTaskGetTickCount();

    (void)unused;
    for (;;) {
        listen_waits = 1u;
        (void)xSemaphoreTake(arena_free, portMAX_DELAY);
        listen_waits = 0u;
        SENSE(listen_input(arena), LISTEN_INPUT_ELEMS, INT8_MIN, INT8_MAX);
        if (listen_run(arena) == NNCC_OK) {
            listen_wrong += differs(listen_first, listen_output(arena), LISTEN_OUTPUT_BYTES, listens);
        } else {
            listen_wrong++;
        }
        (void)xSemaphoreGive(arena_free); /* the output has been read */
        listens++;
        (void)xTaskDelayUntil(&release, LISTEN_PERIOD);
    }
}

static void look(void *unused)
{
    (void)unused;
    for (;;) {
        nncc_status status = NNCC_OK;
        int32_t step = 0;

        (void)xSemaphoreTake(arena_free, portMAX_DELAY);
        SENSE(look_input(arena), LOOK_INPUT_ELEMS, 0, LOOK_LIGHT);
        while (step < LOOK_STEPS && status == NNCC_OK && listen_waits == 0u) {
            status = look_step(arena, step);
            step++;
        }
        if (status != NNCC_OK) {
            look_wrong++;
        } else if (step == LOOK_STEPS) {
            look_wrong += differs(look_first, look_output(arena), LOOK_OUTPUT_BYTES, looks);
            looks++;
        } else {
            given_up++; /* what is in the arena is lost: the next inference begins at step 0, with a new input */
        }
        (void)xSemaphoreGive(arena_free);
    }
}

/* One line of text and a number. */
static void say(const char *what, uint32_t value)
{
    char digits[11];
    uint32_t at = sizeof digits - 1u;

    digits[at] = '\0';
    do {
        at--;
        digits[at] = (char)('0' + value % 10u);
        value /= 10u;
    } while (value != 0u);
    board_print(what);
    board_print(" ");
    board_print(&digits[at]);
    board_print("\n");
}

static void say_bytes(const char *what, const uint8_t *bytes, uint32_t count)
{
    uint32_t i;

    board_print(what);
    for (i = 0; i < count; i++) {
        char text[4] = {' ', "0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15u], '\0'};
        board_print(text);
    }
    board_print("\n");
}

static void report(void *unused)
{
    float want = 0.0f;
    uint32_t turn, late, wrong;

    (void)unused;
    vTaskDelay(APP_TICKS);
    late = missed + (APP_TICKS / CONTROL_PERIOD - 1u - controls); /* those that were never begun, too */
    for (turn = 1u; turn <= controls; turn++) {
        want = filtered(want, turn);
    }
    wrong = listen_wrong + look_wrong + ((want != level) ? 1u : 0u);
    say("control", controls);
    say("missed", late);
    say("latest", latest);
    say("tick", configCPU_CLOCK_HZ / configTICK_RATE_HZ);
    say("listen", listens);
    say("look", looks);
    say("given_up", given_up);
    say("wrong", wrong);
    say("listen_stack_left", (uint32_t)(uxTaskGetStackHighWaterMark(listen_handle) * sizeof(StackType_t)));
    say("look_stack_left", (uint32_t)(uxTaskGetStackHighWaterMark(look_handle) * sizeof(StackType_t)));
    say_bytes("listen_output", listen_first, LISTEN_OUTPUT_BYTES);
    say_bytes("look_output", look_first, LOOK_OUTPUT_BYTES);
    board_exit(late == 0u && wrong == 0u && listens > 0u && looks > 0u);
}

/* The kernel's calls, see FreeRTOSConfig.h. */
void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *words)
{
    *task = &idle_task;
    *stack = idle_stack;
    *words = configMINIMAL_STACK_SIZE;
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    board_print("stack overflow: ");
    board_print(name);
    board_print("\n");
    board_exit(0);
}

void app_assert(const char *file, int line)
{
    say(file, (uint32_t)line);
    board_exit(0);
}

int main(void)
{
    arena_free = xSemaphoreCreateMutexStatic(&arena_free_memory); /* a mutex: whoever holds it inherits the priority */
    (void)xTaskCreateStatic(control, "control", WORDS(sizeof control_stack), NULL, CONTROL_PRIORITY, control_stack,
                            &control_task);
    listen_handle = xTaskCreateStatic(listen, "listen", WORDS(sizeof listen_stack), NULL, LISTEN_PRIORITY, listen_stack,
                                      &listen_task);
    look_handle =
        xTaskCreateStatic(look, "look", WORDS(sizeof look_stack), NULL, LOOK_PRIORITY, look_stack, &look_task);
    (void)xTaskCreateStatic(report, "report", WORDS(sizeof report_stack), NULL, REPORT_PRIORITY, report_stack,
                            &report_task);
    vTaskStartScheduler();
    return 0;
}
