import type { ApiRoute } from '@turnpike/internal-api/internalApi';
import * as z from 'zod/mini';
import { type Right, ROLES } from '../roles.ts';

/**
 * Access to a route: `anyone`; a signed-in user (`session`); a member of the organization in the path whose role has a right. `recent`
 * asks that the user proved who they are within the last 10 minutes.
 */
export type Access =
  | { of: 'anyone' }
  | { of: 'session'; recent?: true }
  | { of: 'member'; right: Right; recent?: true };

/** A route of the account layer. */
export interface AccountRoute extends ApiRoute {
  access: Access;
  path: `/account/${string}`;
  /** The status of an answer that is not 200. */
  status?: 201 | 202;
}

/** An e-mail address in lower case, without display name, comments or quoted parts. */
export const address = z.string().check(
  z.trim(),
  z.maxLength(254),
  // Before `toLowerCase`, which makes ASCII letters of some others.
  z.regex(
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+$/,
    'must be an e-mail address',
  ),
  z.toLowerCase(),
);
/** A name for people: one line with a visible character, and without controls that change the text's direction. */
export const displayName = z
  .string()
  .check(
    z.trim(),
    z.minLength(1),
    z.maxLength(200),
    z.regex(
      /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]*$/u,
      'must be one line, whose direction nothing changes',
    ),
    z.regex(/[^\p{DI}\p{Z}]/u, 'must have a character that shows'),
  );
export const token = z.string().check(z.regex(/^[A-Za-z0-9_-]{43}$/, 'must be the token of the link'));
export const instant = z.string();
export const role = z.enum(ROLES);
/** The id of anything. */
export const idSchema = z.string().check(z.regex(/^\w[\w-]{0,127}$/, 'must be an id'));
export const inOrganization = { organization_id: idSchema };
export const done = z.object({ done: z.literal(true) });
export const UNKNOWN_WORKSPACE = {
  unknown_workspace: { status: 404, message: 'There is no such workspace in this organization.' },
};
export const TOO_MANY = {
  too_many_attempts: { status: 429, message: 'Too many attempts. Wait {seconds} s, then try again.' },
};
/** Declares routes, each with its own types. */
export const defineRoutes = <const Routes extends Record<string, AccountRoute>>(routes: Routes): Routes => routes;
