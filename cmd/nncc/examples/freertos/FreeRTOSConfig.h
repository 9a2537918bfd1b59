/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's settings; the kernel and the application are compiled with the same ones. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#ifndef configCPU_CLOCK_HZ
#define configCPU_CLOCK_HZ 25000000u /* of QEMU's mps2-an385 and mps2-an386; mps3-an547: 32 MHz */
#endif
#define configTICK_RATE_HZ 1000u
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configMAX_PRIORITIES 6
#define configMAX_TASK_NAME_LEN 12
#define configMINIMAL_STACK_SIZE 128

#define configUSE_PREEMPTION 1 /* an inference can be interrupted anywhere, not only between its steps */
#define configUSE_TIME_SLICING 1
#define configUSE_MUTEXES 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_TIMERS 0
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 0
#define configSTACK_DEPTH_TYPE uint32_t

#define INCLUDE_vTaskDelay 1
#define INCLUDE_xTaskDelayUntil 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

/* While stacks are measured: a task that writes below its stack ends in vApplicationStackOverflowHook. */
#define configCHECK_FOR_STACK_OVERFLOW 2
void app_assert(const char *file, int line);
#define configASSERT(x) \
    do { \
        if (!(x)) { \
            app_assert(__FILE__, __LINE__); \
        } \
    } while (0)

/* Ports ARM_CM3 and ARM_CM4F: names of the handlers in the table of vectors, and the priority up to which interrupts
 * may call the kernel. ARM_CM4F saves the FPU's registers of each task that uses them. ARM_CM3 does not: it is for
 * cores without FPU only. */
#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler
#define xPortSysTickHandler SysTick_Handler
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x40

/* Ports ARM_CM55_NTZ and the like: FPU and Helium share their registers, and kernels for int8 use them, too: both are
 * on wherever a model runs. Without them the registers of one task end up in another. */
#define configENABLE_FPU 1
#define configENABLE_MVE 1
#define configENABLE_MPU 0
#define configENABLE_TRUSTZONE 0
#define configRUN_FREERTOS_SECURE_ONLY 1

#endif
