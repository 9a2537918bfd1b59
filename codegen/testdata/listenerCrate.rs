// SPDX-License-Identifier: Apache-2.0

#[test]
fn hears() {
    let mut arena = Box::new(listener::Arena::new());
    let mut model = listener::Model::new(&mut arena);
    let mut said = listener::Said::new();
    let mut list = listener::ClassList::new();
    let mut heard = None;
    for _ in 0..2 {
        *model.input_s() = [0.0, 0.25, 0.75, 0.0];
        let outputs = model.run().unwrap();
        let labels: Vec<i32> = outputs.postprocess_classes(&mut list).iter().map(|c| c.label).collect();
        assert_eq!(labels, [2, 1]);
        heard = outputs.postprocess_keywords(&mut said);
    }
    assert_eq!(heard.unwrap().label, 2);
}
