/** A refusal as vLLM words it: `{"error": {message, type, param, code}}`, where `code` repeats the HTTP status. */
export class EngineError extends Error {
  override name = 'EngineError';
  readonly status: number;
  readonly type: string;
  readonly param: string | null;

  constructor(status: number, type: string, { message, param = null }: { message: string; param?: string | null }) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
  }

  toBody(): object {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.status } };
  }
}

/** The body is not what the route takes. */
export const malformedRequest = (message: string, param: string | null): EngineError =>
  new EngineError(400, 'Bad Request', { message, param });

/** The body was understood, and asks for what cannot be done. */
export const badRequest = (message: string, param: string | null = null): EngineError =>
  new EngineError(400, 'BadRequestError', { message, param });

export const unknownModel = (model: string): EngineError =>
  new EngineError(404, 'NotFoundError', { message: `The model \`${model}\` does not exist.`, param: 'model' });

export const serverBusy = (): EngineError =>
  new EngineError(503, 'Service Unavailable', { message: 'The server is busy, please try again later.' });

export const internalError = (): EngineError =>
  new EngineError(500, 'InternalServerError', { message: 'Internal server error' });

/** Wrong path or method: the phrase of the status as message and type. */
export function wrongRoute(status: 404 | 405): EngineError {
  const message = status === 404 ? 'Not Found' : 'Method Not Allowed';
  return new EngineError(status, message, { message });
}

/** Prompt and requested output are longer than the window. */
export function contextExceeded(length: { window: number; promptTokens: number; outputTokens: number }): EngineError {
  const { window, promptTokens, outputTokens } = length;
  const sentences = [
    `This model's maximum context length is ${window} tokens.`,
    `However, you requested ${outputTokens} output tokens and your prompt contains at least ${promptTokens} input tokens, for a total of at least ${promptTokens + outputTokens} tokens.`,
    'Please reduce the length of the input prompt or the number of requested output tokens.',
    `(parameter=input_tokens, value=${promptTokens})`,
  ];
  return badRequest(sentences.join(' '), 'input_tokens');
}
