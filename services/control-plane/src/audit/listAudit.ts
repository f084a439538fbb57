import type { Db } from '../database/openDatabase.ts';

const PAGE = 100;

/** A page of an organization's audit lines, the newest first. `next` is what to ask for as `before`, null on the last page. */
export async function listAudit(db: Db, organizationId: string, before: string | undefined) {
  const rows = await db.audit.findMany({
    where: { organizationId, ...(before !== undefined && { auditId: { lt: BigInt(before) } }) },
    orderBy: { auditId: 'desc' },
    take: PAGE + 1,
  });
  const lines = rows.slice(0, PAGE).map((row) => ({
    audit_id: String(row.auditId),
    at: row.at.toISOString(),
    actor: row.actor,
    action: row.action,
    target: row.target,
    before: row.before,
    after: row.after,
    address: row.address,
    request_id: row.requestId,
  }));
  return { lines, next: rows.length > PAGE ? (lines.at(-1)?.audit_id ?? null) : null };
}
