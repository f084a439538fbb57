import { ApiError } from '@turnpike/public-api/apiError';

/** A request field that cannot be served. `param` names it as the client wrote it. */
export interface RequestFault {
  kind: 'invalid_request';
  message: string;
  param: string | null;
}

export const invalidRequest = (param: string | null, message: string): ApiError<RequestFault> =>
  new ApiError({ kind: 'invalid_request', message, param });
