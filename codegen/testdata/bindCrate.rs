// SPDX-License-Identifier: Apache-2.0
use one::{bind, Arena, Error, Model, State, Weights};
static FIRST: Weights = Weights(*include_bytes!("../../one_weights.bin"));
static SECOND: Weights = Weights(*include_bytes!("../../second.bin"));

fn infer(arena: &mut Arena, state: &mut State) -> Vec<i8> {
    let mut out = Vec::new();
    let mut model = Model::new(arena, state);
    for turn in 1..3 {
        model.input_x().fill(turn);
        out.extend_from_slice(model.run().unwrap().output_y());
    }
    out
}

#[test]
fn state_is_behind_bind() {
    let mut arena = Box::new(Arena::new());
    assert!(std::panic::catch_unwind(State::new).is_err());
    unsafe { bind(&FIRST) }.unwrap();
    let mut state = State::new();
    assert_eq!(infer(&mut arena, &mut state), [%s]);
    static mut DAMAGED: Weights = Weights(*include_bytes!("../../second.bin"));
    unsafe { (*std::ptr::addr_of_mut!(DAMAGED)).0[90] ^= 1 };
    assert_eq!(unsafe { bind(&*std::ptr::addr_of!(DAMAGED)) }, Err(Error::WeightsDamaged));
    state.reset(); // what was bound stays so
    assert_eq!(infer(&mut arena, &mut state), [%[1]s]);
    unsafe { bind(&SECOND) }.unwrap();
    state.reset();
    assert_eq!(infer(&mut arena, &mut state), [%s]);
    assert_eq!(infer(&mut arena, &mut State::new()), [%[2]s]);
}
