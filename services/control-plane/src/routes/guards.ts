import { type Access, idSchema } from '@turnpike/console-api/account/accountRoute';
import { hasRight, type Role } from '@turnpike/console-api/roles';
import { type Guard, openGuard } from '@turnpike/http-service/guard';
import type { Principal } from '@turnpike/http-service/observeRequests';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Throttle } from '@turnpike/request-throttle/createThrottle';
import type { Request } from 'express';
import type { Db } from '../database/openDatabase.ts';
import { findSession, type LiveSession } from '../identity/sessions.ts';
import { readCookie, SESSION_COOKIE } from './cookies.ts';

/** A signed-in user. */
export interface UserPrincipal extends Principal, LiveSession {
  kind: 'user';
}
/** A signed-in user as a member of the organization in the path. */
export interface MemberPrincipal extends Principal, LiveSession {
  kind: 'member';
  organizationId: string;
  role: Role;
}

/** How long a proof of who the user is counts as recent. */
const RECENT_MS = 10 * 60_000;
const READS = new Set(['GET', 'HEAD']);

export interface GuardDependencies {
  db: Db;
  accountOrigin: string;
  /** Requests of one user. */
  byUser: Throttle;
}

/** Takes a request from an allowance. Throws `too_many_attempts`. */
export function takeRequest(throttle: Throttle, name: string): void {
  const { isAllowed, waitMs } = throttle.takeRequest(name);
  if (!isAllowed) throw new ApiError({ kind: 'too_many_attempts', seconds: String(Math.ceil(waitMs / 1_000)) });
}

/** Makes the guard of a route from what it declares. Throws a fault that `REFUSALS` of the declaration words. */
export function createGuard(access: Access, { db, accountOrigin, byUser }: GuardDependencies): Guard {
  return async (req) => {
    refuseForeignOrigin(req, accountOrigin);
    if (access.of === 'anyone') return openGuard(req);
    const session = await findSession(db, readCookie(req, SESSION_COOKIE) ?? '');
    if (!session) throw new ApiError({ kind: 'no_session' });
    takeRequest(byUser, session.userId);
    const user = { kind: 'user', ...session } satisfies UserPrincipal;
    const principal = access.of === 'member' ? await toMember(db, user, { req, right: access.right }) : user;
    if (access.recent && session.provedAt.getTime() < Date.now() - RECENT_MS)
      throw new ApiError({ kind: 'step_up_required' });
    return principal;
  };
}

/**
 * Refuses a request that changes something and that a page of another origin may have sent. Browsers say the relation of the two; one
 * that does not sends its origin.
 */
function refuseForeignOrigin(req: Request, accountOrigin: string): void {
  if (READS.has(req.method)) return;
  const site = req.headers['sec-fetch-site'];
  if (site === undefined ? req.headers.origin !== accountOrigin : site !== 'same-origin')
    throw new ApiError({ kind: 'foreign_origin' });
  const type = req.headers['content-type'];
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(type)) throw new ApiError({ kind: 'not_json' });
}

/** An organization of others and one that does not exist are one refusal. */
async function toMember(
  db: Db,
  { userId, sessionId, provedAt }: UserPrincipal,
  { req, right }: { req: Request; right: Extract<Access, { of: 'member' }>['right'] },
): Promise<MemberPrincipal> {
  const organizationId = String(req.params.organization_id);
  const isId = idSchema.safeParse(organizationId).success;
  const where = { organizationId_userId: { organizationId, userId } };
  const member = isId ? await db.member.findUnique({ where }) : null;
  if (!member) throw new ApiError({ kind: 'organization_not_found' });
  const role = member.role as Role;
  if (!hasRight(role, right)) throw new ApiError({ kind: 'right_missing', role: role.replace('_', ' ') });
  return { kind: 'member', userId, sessionId, provedAt, organizationId, role };
}
