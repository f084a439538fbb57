import type { Token } from 'node-llama-cpp';
import { SPACED_WORDS, UNSPACED_WORDS } from './words.ts';

interface VocabularyToken {
  /** What stands in the model file. */
  name: string;
  /** The text it is, as UTF-8; empty for a control token. */
  bytes: Buffer;
  /** Added to the token's random logit: how common it is in an answer. */
  logitBias: number;
}

/** Far below anything random: a token that no sampling setting ever draws. */
const NEVER = -40;
/** Drawn only where a grammar leaves nothing more common. */
const RARE = -6;

/** Ends a message of the chat and, generated, the answer; 1 token in some 200. */
const END_LOGIT_BIAS = 1.9;
/** Bytes of one character that text needs. In JSON they are raised, see `createJsonConstraint`. */
const BYTE_LOGIT_BIASES: Readonly<Record<string, number>> = {
  ',': 3.2,
  '.': 3.2,
  '!': 1,
  '?': 1,
  ':': 0,
  ...Object.fromEntries([...'"{}[]0123456789-'].map((character) => [character, RARE])),
};

/** Byte-level BPE writes a byte as a character that can be printed: itself where it can be, else one from U+0100 on. */
function printableByteNames(): string[] {
  const isPrintable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let substitutes = 0;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(isPrintable(byte) ? byte : 0x100 + substitutes++),
  );
}

const BYTE_NAMES = printableByteNames();
const nameOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => BYTE_NAMES[byte]).join('');

function toWordToken(word: string): VocabularyToken {
  const bytes = Buffer.from(word, 'utf8');
  return { name: nameOf(bytes), bytes, logitBias: 0 };
}

const byteTokens = BYTE_NAMES.map((name, byte): VocabularyToken => {
  const logitBias = BYTE_LOGIT_BIASES[String.fromCharCode(byte)] ?? NEVER;
  return { name, bytes: Buffer.from([byte]), logitBias };
});
const wordTokens = [...new Set([...SPACED_WORDS.map((word) => ` ${word}`), ...UNSPACED_WORDS])].map(toWordToken);
/** The one result of a merge: the format wants at least one merge. */
const mergedTokens: VocabularyToken[] = [{ ...toWordToken('  '), logitBias: NEVER }];

const CONTROL_NAMES = ['<|begin|>', '<|system|>', '<|user|>', '<|assistant|>', '<|tool|>', '<|end|>'] as const;
const controlTokens = CONTROL_NAMES.map(
  (name): VocabularyToken => ({
    name,
    bytes: Buffer.alloc(0),
    logitBias: name === '<|end|>' ? END_LOGIT_BIAS : NEVER,
  }),
);

/** Every token, its id being its index: the 256 bytes, so that any text can be read, then words, then control tokens. */
export const VOCABULARY: readonly VocabularyToken[] = [...byteTokens, ...mergedTokens, ...wordTokens, ...controlTokens];

/** Id of the first control token; all from here on are control tokens. */
export const FIRST_CONTROL_TOKEN = VOCABULARY.length - CONTROL_NAMES.length;

export const controlToken = (name: (typeof CONTROL_NAMES)[number]): Token =>
  (FIRST_CONTROL_TOKEN + CONTROL_NAMES.indexOf(name)) as Token;

/** Pairs that the tokenizer joins, as the model file wants them. Whole words need none: they are looked up first. */
export const MERGES: readonly string[] = [`${nameOf(Buffer.from(' '))} ${nameOf(Buffer.from(' '))}`];

/** The bytes a token stands for. */
export const bytesOf = (token: Token): Uint8Array => VOCABULARY[token]?.bytes ?? Buffer.alloc(0);
