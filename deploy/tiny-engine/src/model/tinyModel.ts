import { type GgufTensor, type GgufValue, toGgufFile } from './ggufFile.ts';
import { createRandomSource, type RandomSource, randomMatrix } from './randomWeights.ts';
import { controlToken, FIRST_CONTROL_TOKEN, MERGES, VOCABULARY } from './vocabulary.ts';

/** The window: prompt and output tokens together. */
export const MAX_MODEL_LEN = 8_192;

const WIDTH = 64;
const BLOCKS = 2;
const HEADS = 4;
const FEED_FORWARD_WIDTH = 128;

/** How much the logits of two words differ: enough for taste, too little to repeat itself. */
const LOGIT_DEVIATION = 1.5;
/**
 * The first dimension of the residual stream is the same in every token and no block changes it, so that the output layer,
 * which has no bias of its own, can hold one there. It is this many times as large as the others.
 */
const BIAS_DIMENSION = 8;
/** About what the final norm makes of the bias dimension, and of each other one. */
const NORMED_BIAS_DIMENSION = 5.2;
const NORMED_DIMENSION = 0.75;

/** The bytes of a llama model with random weights, always the same for the same seed. */
export function makeTinyModel(seed: number): Buffer {
  const random = createRandomSource(seed);
  const tensors = [
    embeddings(random),
    ...Array.from({ length: BLOCKS }, (_, block) => blockTensors(random, `blk.${block}`)).flat(),
    norm('output_norm.weight', 1),
    output(random),
  ];
  return toGgufFile(metadata(), tensors);
}

function metadata(): Record<string, GgufValue> {
  return {
    'general.architecture': { type: 'string', value: 'llama' },
    'general.name': { type: 'string', value: 'tiny random llama' },
    'llama.vocab_size': { type: 'uint32', value: VOCABULARY.length },
    'llama.context_length': { type: 'uint32', value: MAX_MODEL_LEN },
    'llama.embedding_length': { type: 'uint32', value: WIDTH },
    'llama.block_count': { type: 'uint32', value: BLOCKS },
    'llama.feed_forward_length': { type: 'uint32', value: FEED_FORWARD_WIDTH },
    'llama.attention.head_count': { type: 'uint32', value: HEADS },
    'llama.attention.layer_norm_rms_epsilon': { type: 'float32', value: 1e-5 },
    'llama.rope.dimension_count': { type: 'uint32', value: WIDTH / HEADS },
    'tokenizer.ggml.model': { type: 'string', value: 'gpt2' },
    // Llama 3's rules: a word that is in the vocabulary is one token, without merges that lead to it.
    'tokenizer.ggml.pre': { type: 'string', value: 'llama-bpe' },
    'tokenizer.ggml.tokens': { type: 'strings', value: VOCABULARY.map(({ name }) => name) },
    'tokenizer.ggml.token_type': { type: 'int32s', value: VOCABULARY.map((_, id) => tokenType(id)) },
    'tokenizer.ggml.merges': { type: 'strings', value: MERGES },
    'tokenizer.ggml.bos_token_id': { type: 'uint32', value: controlToken('<|begin|>') },
    'tokenizer.ggml.eos_token_id': { type: 'uint32', value: controlToken('<|end|>') },
    'tokenizer.ggml.add_bos_token': { type: 'bool', value: false },
  };
}

const NORMAL_TOKEN = 1;
const CONTROL_TOKEN = 3;
const tokenType = (id: number): number => (id < FIRST_CONTROL_TOKEN ? NORMAL_TOKEN : CONTROL_TOKEN);

function embeddings(random: RandomSource): GgufTensor {
  const data = randomMatrix(random, { rowLength: WIDTH, rows: VOCABULARY.length, deviation: 1 });
  VOCABULARY.forEach((_, id) => {
    data[id * WIDTH] = BIAS_DIMENSION;
  });
  return { name: 'token_embd.weight', dimensions: [WIDTH, VOCABULARY.length], data };
}

function blockTensors(random: RandomSource, block: string): GgufTensor[] {
  const matrix = (name: string, rowLength: number, rows: number): GgufTensor => ({
    name: `${block}.${name}.weight`,
    dimensions: [rowLength, rows],
    data: randomMatrix(random, { rowLength, rows, deviation: 1 / Math.sqrt(rowLength) }),
  });
  return [
    norm(`${block}.attn_norm.weight`, 0),
    matrix('attn_q', WIDTH, WIDTH),
    matrix('attn_k', WIDTH, WIDTH),
    matrix('attn_v', WIDTH, WIDTH),
    withoutFirstRow(matrix('attn_output', WIDTH, WIDTH)),
    norm(`${block}.ffn_norm.weight`, 0),
    matrix('ffn_gate', WIDTH, FEED_FORWARD_WIDTH),
    matrix('ffn_up', WIDTH, FEED_FORWARD_WIDTH),
    withoutFirstRow(matrix('ffn_down', FEED_FORWARD_WIDTH, WIDTH)),
  ];
}

/** A norm that leaves every dimension as it is but the bias dimension, which it multiplies by `biasScale`. */
function norm(name: string, biasScale: 0 | 1): GgufTensor {
  const data = new Float32Array(WIDTH).fill(1);
  data[0] = biasScale;
  return { name, dimensions: [WIDTH], data };
}

/** Writes nothing to the bias dimension. */
function withoutFirstRow(tensor: GgufTensor): GgufTensor {
  tensor.data.fill(0, 0, tensor.dimensions[0]);
  return tensor;
}

function output(random: RandomSource): GgufTensor {
  const deviation = LOGIT_DEVIATION / (NORMED_DIMENSION * Math.sqrt(WIDTH - 1));
  const data = randomMatrix(random, { rowLength: WIDTH, rows: VOCABULARY.length, deviation });
  VOCABULARY.forEach(({ logitBias }, id) => {
    data[id * WIDTH] = logitBias / NORMED_BIAS_DIMENSION;
  });
  return { name: 'output.weight', dimensions: [WIDTH, VOCABULARY.length], data };
}
