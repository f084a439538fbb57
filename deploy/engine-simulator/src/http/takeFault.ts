import type { IncomingHttpHeaders } from 'node:http';
import type { Fault } from '../faults/fault.ts';
import { DirectiveError, type Directives, parseDirectives } from '../generation/directives.ts';
import { badRequest } from '../wire/engineError.ts';
import type { EngineContext } from './engineContext.ts';

/** The directives in a text of the request; throws a 400 with `param` for one that is not understood. */
export function readDirectives(text: string, param: string): Directives {
  try {
    return parseDirectives(text);
  } catch (error) {
    if (error instanceof DirectiveError) throw badRequest(error.message, param);
    throw error;
  }
}

/** The fault of a request: the one its directives name, else that of the first rule that matches. */
export function takeFault(
  directives: readonly Directives[],
  headers: IncomingHttpHeaders,
  { engine, faultRules }: EngineContext,
): Fault | undefined {
  const named = directives.find(({ fault }) => fault)?.fault;
  return named ?? faultRules.take({ model: engine.config.servedModelName, port: engine.config.port }, headers);
}
