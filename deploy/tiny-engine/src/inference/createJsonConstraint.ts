import { type Llama, LlamaGrammarEvaluationState, type LlamaModel, TokenBias } from 'node-llama-cpp';

/** The part of JSON schema that the library makes grammars of. */
export type JsonSchema = Parameters<Llama['createGrammarForJsonSchema']>[0];

/** What the answer has to be: any JSON object, or a value of a JSON schema. */
export type JsonFormat = { kind: 'object' } | { kind: 'schema'; schema: JsonSchema };

export interface JsonConstraint {
  grammarEvaluationState: LlamaGrammarEvaluationState;
  tokenBias: TokenBias;
  /** Text after which the value is complete; the grammar of a schema leads up to it. */
  stop: string;
}

/** How much likelier than in prose, as a logit, so that random strings, lists and numbers soon come to an end. */
const LOGIT_RAISES: Readonly<Record<string, number>> = {
  '"': 11,
  ',': -2,
  ...Object.fromEntries([...'{}[]-0123456789'].map((character) => [character, 6])),
};

/** Constrains one generation to JSON. Throws where the schema uses what the grammar cannot express. */
export async function createJsonConstraint(
  format: JsonFormat,
  { llama, model }: { llama: Llama; model: LlamaModel },
): Promise<JsonConstraint> {
  const grammar =
    format.kind === 'object'
      ? await llama.getGrammarFor('json')
      : await llama.createGrammarForJsonSchema(format.schema);
  const tokenBias = TokenBias.for(model);
  for (const [character, logit] of Object.entries(LOGIT_RAISES)) {
    tokenBias.set(model.tokenize(character), { logit });
  }
  return { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar }), tokenBias, stop: '\n\n\n\n' };
}
