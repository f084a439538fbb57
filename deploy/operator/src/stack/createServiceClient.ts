import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import type { z } from 'zod';
import { RefusedError } from '../cli/operatorError.ts';
import type { StackAccess } from './findStack.ts';
import type { ServiceName } from './services.ts';
import { toProblem } from './toProblem.ts';

const USUAL_TIMEOUT_MS = 10_000;

export interface ServiceRequest {
  service: ServiceName;
  method: 'GET' | 'POST' | 'PUT';
  /** Begins with `/internal/`. */
  path: string;
  body?: object;
  /** Longest wait for the answer; 10 s for most. */
  timeoutMs?: number;
}

export interface ServiceClient {
  /** Calls an internal route and reads its answer. Throws a `RefusedError` in words worth printing as they stand. */
  call<Answer extends z.ZodType>(request: ServiceRequest, answer: Answer): Promise<z.output<Answer>>;
}

/** Calls a stack's services in the name of the operator; what they log of a change names `user`. */
export function createServiceClient(
  { urls, tokenKeys }: Pick<StackAccess, 'urls' | 'tokenKeys'>,
  { user }: { user: string },
): ServiceClient {
  const internalHeaders = createTokenIssuer({ service: `operator:${user}`, keys: tokenKeys });

  async function send({ service, method, path, body, timeoutMs = USUAL_TIMEOUT_MS }: ServiceRequest) {
    try {
      const response = await fetch(`${urls[service]}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...internalHeaders(service) },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.status, requestId: response.headers.get('x-request-id'), text: await response.text() };
    } catch (error) {
      const isTimeout = error instanceof Error && error.name === 'TimeoutError';
      const problem = isTimeout
        ? `${service} gave no answer within ${timeoutMs / 1_000} s. What was asked for may have been done: look before you repeat it.`
        : `${service} cannot be reached at ${urls[service]}: see whether it runs, and whether this is the right stack.`;
      throw new RefusedError(problem, { cause: error });
    }
  }

  return {
    async call(request, answer) {
      const { status, requestId, text } = await send(request);
      if (status !== 200) throw new RefusedError(toProblem({ service: request.service, status, requestId, text }));
      try {
        return answer.parse(JSON.parse(text));
      } catch (error) {
        throw new RefusedError(
          `${request.service} answered in a way that this version of turnpike does not understand; if a change was asked for, it was made.`,
          { cause: error },
        );
      }
    },
  };
}
