/** One mistake in a request, as the framework below most of these engines names it. */
export interface Issue {
  type: string;
  loc: (string | number)[];
  msg: string;
  input: unknown;
}

interface ErrorDetails {
  type?: string;
  param?: string | null;
  issues?: readonly Issue[];
  form?: ErrorForm;
  cause?: unknown;
}

/** An error that an engine answers with. Each personality words it in its own form. */
export class EngineError extends Error {
  readonly status: number;
  /** The name of the mistake, where a form has room for one. */
  readonly type: string;
  readonly param: string | null;
  readonly issues: readonly Issue[];
  /** A form that this one has whatever the engine's others have. */
  readonly form: ErrorForm | undefined;

  constructor(status: number, message: string, { type, param = null, issues = [], form, cause }: ErrorDetails = {}) {
    super(message, { cause });
    this.status = status;
    this.type = type ?? TYPES.get(status) ?? 'BadRequestError';
    this.param = param;
    this.issues = issues;
    this.form = form;
  }
}

const TYPES = new Map([
  [404, 'NotFoundError'],
  [500, 'InternalServerError'],
  [503, 'ServiceUnavailableError'],
]);

/** `detail`: FastAPI's. `envelope`: vLLM's. `flat`: TensorRT-LLM's. `nested_detail`: Kokoro's. */
export type ErrorForm = 'detail' | 'envelope' | 'flat' | 'nested_detail';

/** Status and body of an error in one of the four forms. Mistakes in fields are 422 with a list, or 400 with a sentence. */
export function toErrorAnswer(error: EngineError, form: ErrorForm): { status: number; body: object } {
  const { message, type, param, issues } = error;
  const isList = issues.length > 0 && (form === 'detail' || form === 'nested_detail');
  if (isList) return { status: 422, body: { detail: issues } };
  const status = issues.length > 0 ? 400 : error.status;
  switch (form) {
    case 'detail':
      return { status, body: { detail: message } };
    case 'envelope':
      return { status, body: { error: { message, type, param, code: status } } };
    case 'flat':
      return { status, body: { object: 'error', message, type, param, code: status } };
    case 'nested_detail': {
      const isOurs = status >= 500;
      const kind = { error: isOurs ? 'processing_error' : 'validation_error', message };
      return { status, body: { detail: { ...kind, type: isOurs ? 'server_error' : 'invalid_request_error' } } };
    }
  }
}
