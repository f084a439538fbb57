import fc from 'fast-check';
import { maybe, sampling, someText, streaming } from './bodyFields.ts';

/** A legacy completion that is well-formed. */
export const completionBody: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({ model: fc.constantFrom('llama-3.1-8b-instruct', 'qwen3-coder-30b-a3b-instruct'), prompt: someText }),
    sampling,
    streaming,
    maybe({ suffix: someText }),
  )
  .map((parts) => Object.assign({}, ...parts));

/** An embedding request that is well-formed. */
export const embeddingBody: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({
      model: fc.constant('bge-m3'),
      input: fc.oneof(someText, fc.array(someText, { minLength: 1, maxLength: 4 })),
    }),
    maybe({
      encoding_format: fc.constantFrom('float', 'base64'),
      dimensions: fc.constantFrom(1, 1_024),
      user: someText,
    }),
  )
  .map((parts) => Object.assign({}, ...parts));
