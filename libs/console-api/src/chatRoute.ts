import * as z from 'zod/mini';
import type { ConsoleRoute } from './console/consoleRoute.ts';

/** The header of a chat call with the API key that pays for it. `Authorization` has the console token. */
export const KEY_HEADER = 'x-turnpike-key';

/** The route of a chat call, which the router serves. Question and answers are those of the API. */
export const CHAT_ROUTE = {
  right: 'keys.write',
  method: 'POST',
  path: '/console/chat/completions',
  promise: `Passes a chat call on to the router, and streams the answer. Body, answers and gates are those of \`POST /v1/chat/completions\` of the API, in openapi.json. The header \`${KEY_HEADER}\` has an API key of the workspace, which pays.`,
  answer: z.unknown(),
} as const satisfies ConsoleRoute;

/** Refusals of a chat call by the console host itself. */
export const CHAT_REFUSALS = {
  foreign_key: {
    status: 403,
    message: `The key in \`${KEY_HEADER}\` is missing, has expired, or is of another workspace. Make a new one.`,
  },
};
