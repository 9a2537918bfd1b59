// SPDX-License-Identifier: Apache-2.0
// Runs models in ONNX Runtime for the tests: node ort.js JOBS.json, where
// NODE_PATH names the folder of onnxruntime-node. A job has a model file and
// input files of raw little-endian data; its outputs are written beside the
// model, and what happened goes to stdout as JSON.
const fs = require('fs');
const ort = require('onnxruntime-node');
ort.env.logLevel = 'error';

const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array, float16: Uint16Array,
};

function tensor(i) {
  const b = fs.readFileSync(i.file);
  const data = new (arrays[i.dtype])(b.buffer.slice(b.byteOffset, b.byteOffset + b.length));
  return new ort.Tensor(i.dtype, data, i.shape);
}

(async () => {
  const results = [];
  for (const job of JSON.parse(fs.readFileSync(process.argv[2]))) {
    try {
      const s = await ort.InferenceSession.create(job.model, { graphOptimizationLevel: job.optimise || 'disabled', intraOpNumThreads: 1, logSeverityLevel: 3 });
      const feeds = {};
      for (const i of job.inputs || []) feeds[i.name] = tensor(i);
      const out = await s.run(feeds);
      const times = [];
      for (let k = 0; k < (job.repeat || 0); k++) {
        const start = process.hrtime.bigint();
        await s.run(feeds);
        times.push(Number(process.hrtime.bigint() - start) / 1e9);
      }
      const seconds = times.sort((a, b) => a - b)[times.length >> 1] || 0;
      const outputs = s.outputNames.map((name, k) => {
        const t = out[name];
        const file = job.model + '.out' + k;
        fs.writeFileSync(file, Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength));
        return { name, dtype: t.type, shape: t.dims.map(Number), file };
      });
      results.push({ outputs, seconds });
    } catch (e) {
      results.push({ error: String(e.message || e) });
    }
  }
  console.log(JSON.stringify(results));
})();
