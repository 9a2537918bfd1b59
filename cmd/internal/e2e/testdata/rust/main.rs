// SPDX-License-Identifier: Apache-2.0
//! An application for QEMU's Cortex-M machines: runs digits step by step on a picture, prints the result by semihosting.
#![no_std]
#![no_main]
use core::arch::asm;
use core::fmt::Write;
use core::ptr;

extern "C" {
    static mut stack_top: u32;
    static mut data_start: u8;
    static mut data_end: u8;
    static mut data_load: u8;
    static mut bss_start: u8;
    static mut bss_end: u8;
}

struct Console;
impl Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for b in text.bytes() {
            unsafe { semihost(3, &b as *const u8 as usize) };
        }
        Ok(())
    }
}

unsafe fn semihost(operation: usize, argument: usize) {
    asm!("bkpt 0xAB", inlateout("r0") operation => _, in("r1") argument);
}

fn leave(ok: bool) -> ! {
    loop {
        unsafe { semihost(0x18, if ok { 0x20026 } else { 0x20023 }) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    leave(false)
}

static mut ARENA: digits::Arena = digits::Arena::new();

#[no_mangle]
unsafe extern "C" fn reset() -> ! {
    // CPACR: the FPU on. In assembly, since nothing may use it before.
    asm!("ldr {1}, [{0}]", "orr {1}, #0xF00000", "str {1}, [{0}]", "dsb", "isb", in(reg) 0xE000ED88usize, out(reg) _);
    let bytes = ptr::addr_of!(data_end) as usize - ptr::addr_of!(data_start) as usize;
    ptr::copy_nonoverlapping(ptr::addr_of!(data_load), ptr::addr_of_mut!(data_start), bytes);
    let bytes = ptr::addr_of!(bss_end) as usize - ptr::addr_of!(bss_start) as usize;
    ptr::write_bytes(ptr::addr_of_mut!(bss_start), 0, bytes);
    let mut model = digits::Model::new(&mut ARENA);
    for (i, x) in model.input_input().iter_mut().enumerate() {
        *x = if i % 27 < 4 { 127 } else { -128 };
    }
    let mut inference = model.steps();
    while inference.step().unwrap() {}
    let outputs = inference.finish().unwrap();
    writeln!(Console, "{:?}", outputs.output_output()).unwrap();
    writeln!(Console, "{} {}", digits::info().name(), digits::info().step_name(0).unwrap()).unwrap();
    leave(true)
}

#[repr(C)]
pub struct Vectors(*const u32, unsafe extern "C" fn() -> !);
unsafe impl Sync for Vectors {}
#[no_mangle]
#[link_section = ".vectors"]
#[used]
pub static VECTORS: Vectors = Vectors(unsafe { ptr::addr_of!(stack_top) }, reset);
