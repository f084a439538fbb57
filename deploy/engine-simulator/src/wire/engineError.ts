/** A refusal in vLLM's words. */
export class EngineError extends Error {
  override name = 'EngineError';
  readonly status: number;
  readonly type: string;
  readonly param: string | null;

  constructor({
    status,
    type,
    message,
    param = null,
  }: { status: number; type: string; message: string; param?: string | null }) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
  }
}

/** The body of an error answer or event; `code` repeats the HTTP status. */
export const toErrorBody = ({ message, type, param, status }: EngineError): object => ({
  error: { message, type, param, code: status },
});

/** A value the schema or a rule between fields refuses, before anything is rendered. */
export const malformedRequest = (message: string, param: string | null): EngineError =>
  new EngineError({ status: 400, type: 'Bad Request', message, param });

/** A value that only shows to be wrong once the request is understood. */
export const badRequest = (message: string, param: string | null = null): EngineError =>
  new EngineError({ status: 400, type: 'BadRequestError', message, param });

/** An unknown model name. The error lists the known ones. */
export const unknownModel = (model: string, aliases: readonly string[]): EngineError =>
  new EngineError({
    status: 404,
    type: 'NotFoundError',
    message: `The model \`${model}\` does not exist. Valid aliases: ${aliases.join(', ')}.`,
    param: 'model',
  });

/** The same of an engine that embeds. */
export const unknownEmbeddingModel = (model: string): EngineError =>
  new EngineError({ status: 404, type: 'NotFoundError', message: `The model \`${model}\` does not exist.` });

export const emptyPrompt = (): EngineError =>
  badRequest('Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)', 'prompt');

/** The error for every failure inside an engine. */
export const internalError = (): EngineError =>
  new EngineError({ status: 500, type: 'InternalServerError', message: 'Internal server error' });

export const serverBusy = (): EngineError =>
  new EngineError({
    status: 503,
    type: 'Service Unavailable',
    message: 'The server is busy, please try again later.',
  });

/** The error of a process whose engine is dead. */
export const engineDead = (): EngineError =>
  new EngineError({
    status: 500,
    type: 'InternalServerError',
    message: 'EngineCore encountered an issue. See stack trace (above) for the root cause.',
  });

export const tooManyRequests = (): EngineError =>
  new EngineError({ status: 429, type: 'Too Many Requests', message: 'Too many requests, please try again later.' });

export const notFound = (message: string): EngineError =>
  new EngineError({ status: 404, type: 'NotFoundError', message });

/** An image that cannot be fetched: engines here have no way out. */
export const unfetchableImage = (url: string): EngineError =>
  new EngineError({
    status: 422,
    type: 'UnprocessableEntityError',
    message: `Failed to fetch media from URL: cannot connect to host (parameter=image_url, value=${url})`,
    param: 'image_url',
  });
