import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { type controlPlaneApi, PAGE_SIZE, type VerificationBody } from '@turnpike/internal-api/controlPlane';
import type { Asked } from '@turnpike/internal-api/transport/serveApi';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';
import type { Verification } from '../generated/client.ts';

type NewVerification = Asked<typeof controlPlaneApi.routes.addVerification>['body'];
type VerificationState = Asked<typeof controlPlaneApi.routes.setVerification>['body'];

const toBody = (row: Verification): VerificationBody => ({
  verification_id: row.verificationId,
  organization_id: row.organizationId,
  user_id: row.userId,
  kind: row.kind as VerificationBody['kind'],
  provider: row.provider,
  provider_reference: row.providerReference,
  status: row.status as VerificationBody['status'],
  reason_code: row.reasonCode,
  requested_by: row.requestedBy,
  requested_at: row.requestedAt.toISOString(),
  decided_at: row.decidedAt?.toISOString() ?? null,
  expires_at: row.expiresAt?.toISOString() ?? null,
  redacted_at: row.redactedAt?.toISOString() ?? null,
});

/** Returns the columns of a state. A decision and a redaction keep their first instant. */
function toColumns(state: VerificationState, before?: Verification) {
  const now = new Date();
  const isDecided = state.status === 'verified' || state.status === 'canceled';
  return {
    status: state.status,
    reasonCode: state.reason_code,
    expiresAt: state.expires_at === null ? null : new Date(state.expires_at),
    decidedAt: isDecided ? (before?.decidedAt ?? now) : null,
    redactedAt: before?.redactedAt ?? (state.is_redacted ? now : null),
  };
}

/** Lists the verifications of an organization by their ids. */
export async function listVerifications(db: Db, { organizationId, after }: { organizationId: string; after: string }) {
  const rows = await db.verification.findMany({
    where: { organizationId, verificationId: { gt: after } },
    orderBy: { verificationId: 'asc' },
    take: PAGE_SIZE,
  });
  const last = rows.length < PAGE_SIZE ? null : (rows.at(-1)?.verificationId ?? null);
  return { verifications: rows.map(toBody), next_after: last };
}

/** Records a check by an identity provider. Throws `unknown_member` and, for a known reference, `verification_exists`. */
export async function addVerification(
  db: Db,
  { organizationId, fields, by }: { organizationId: string; fields: NewVerification; by: string },
  origin: Origin,
): Promise<VerificationBody> {
  const { user_id: userId, kind, provider, provider_reference: providerReference, ...state } = fields;
  const verificationId = `ver_${newUuidV7()}`;
  return db.$transaction(async (tx) => {
    if (userId !== null && !(await tx.member.findFirst({ where: { organizationId, userId } })))
      throw new ApiError({ kind: 'unknown_member' });
    const columns = { organizationId, userId, kind, provider, providerReference, ...toColumns(state) };
    const { count } = await tx.verification.createMany({
      data: [{ verificationId, requestedBy: by, ...columns }],
      skipDuplicates: true,
    });
    if (count === 0) throw new ApiError({ kind: 'verification_exists' });
    await writeAudit(tx, origin, { organizationId, actor: by, action: 'verification.added', target: verificationId });
    return toBody(await tx.verification.findUniqueOrThrow({ where: { verificationId } }));
  });
}

/** Sets the state of a verification. Throws `verification_not_found`. */
export async function setVerification(
  db: Db,
  { verificationId, state, by }: { verificationId: string; state: VerificationState; by: string },
  origin: Origin,
): Promise<VerificationBody> {
  return db.$transaction(async (tx) => {
    await tx.$queryRaw(sql`
      SELECT 1 AS one FROM verification WHERE verification_id = ${verificationId} FOR NO KEY UPDATE`);
    const before = await tx.verification.findUnique({ where: { verificationId } });
    if (!before) throw new ApiError({ kind: 'verification_not_found' });
    const row = await tx.verification.update({ where: { verificationId }, data: toColumns(state, before) });
    const { organizationId } = before;
    await writeAudit(tx, origin, { organizationId, actor: by, action: 'verification.set', target: verificationId });
    return toBody(row);
  });
}
