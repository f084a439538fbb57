import { toChangeLog } from '@turnpike/http-service/createHttpApp';
import { internalCallerOf } from '@turnpike/http-service/guard';
import type { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { Response } from 'express';
import type { Origin } from '../audit/audit.ts';
import { listAudit } from '../audit/listAudit.ts';
import { setAccountLimit } from '../billing/accountLimit.ts';
import { compareWithProcessor } from '../billing/compareWithProcessor.ts';
import { listDisputes } from '../billing/disputes.ts';
import { getDocument, listAllDocuments } from '../billing/documents.ts';
import { type Payments, throwPaymentsAway } from '../billing/paymentProcessor.ts';
import { getRefund, listRefunds, startRefund } from '../billing/refunds.ts';
import { settleTopUp } from '../billing/settleTopUp.ts';
import { getTopUp, listAllTopUps } from '../billing/topUps.ts';
import type { Db } from '../database/openDatabase.ts';
import { confirmRegionEpoch, listDayTotals, listRegionEpochs } from '../day-totals/dayTotals.ts';
import { endHold, listHolds, openHold } from '../holds/holds.ts';
import { addVerification, listVerifications, setVerification } from '../holds/verifications.ts';
import { listTransfers, readWallet } from '../ledger/readWallet.ts';
import type { Outbox } from '../mail/outbox.ts';
import { adjustCredit } from '../organizations/adjustCredit.ts';
import { listMembers } from '../organizations/members.ts';
import { getOperatedOrganization, listAllOrganizations } from '../organizations/operatedOrganizations.ts';
import { importRates, listRates } from '../rates/rates.ts';

type OperatorHandlers = Omit<
  Handlers<typeof controlPlaneApi>,
  'readFeed' | 'readFeedDigest' | 'putDayTotals' | 'putTakeBack'
>;

/** Shows the operator every organization, and changes its holds and verifications in the name of the person behind. */
export function createOperatorHandlers({
  db,
  payments,
  outbox,
  log,
}: {
  db: Db;
  payments: Payments | undefined;
  outbox: Outbox;
  log: Logger;
}): OperatorHandlers {
  const note = (res: Response, fields: object, what: string): void => toChangeLog(log, res).info(fields, what);
  /** Returns the id of an organization that there is. Throws `organization_not_found`. */
  const known = async (organizationId: string): Promise<string> =>
    (await getOperatedOrganization(db, organizationId)).organization_id;

  return {
    listOrganizations: async ({ params: { after } }) => listAllOrganizations(db, after),
    getOrganization: async ({ params: { organization_id: id } }) => getOperatedOrganization(db, id),
    listMembers: async ({ params: { organization_id: id } }) => ({ members: await listMembers(db, await known(id)) }),
    listAudit: async ({ params: { organization_id: id, before } }) => listAudit(db, await known(id), before),

    listDayTotals: async ({ params: { workspace_id: workspaceId, after } }) =>
      listDayTotals(db, { workspaceId, after }),
    listRegionEpochs: async () => ({ epochs: await listRegionEpochs(db) }),
    async confirmRegionEpoch({ params: { region }, body: { epoch } }, res) {
      const confirmed = await confirmRegionEpoch(db, { region, epoch, by: internalCallerOf(res) });
      note(res, { region, epoch }, 'epoch of the ledger of a region confirmed');
      return confirmed;
    },

    getWallet: async ({ params: { workspace_id: workspaceId } }) => readWallet(db, workspaceId),
    listTransfers: async ({ params: { workspace_id: workspaceId, after } }) =>
      listTransfers(db, { workspaceId, after }),
    async adjustCredit({ params: { workspace_id: workspaceId }, body }, res) {
      const { credit_id: creditId, amount_nano_usd: amountNanoUsd, note: text } = body;
      const adjustment = { workspaceId, creditId, amountNanoUsd, note: text, by: internalCallerOf(res) };
      const isApplied = await adjustCredit(db, adjustment, originOf(res));
      note(
        res,
        { creditId, workspaceId, amountNanoUsd: String(amountNanoUsd), isApplied },
        'credit of a region booked',
      );
      return { applied: isApplied };
    },
    listTopUps: async ({ params: { after, workspace_id: workspaceId } }) => listAllTopUps(db, { after, workspaceId }),
    async settleTopUp({ params: { top_up_id: topUpId } }, res) {
      if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
      const state = await settleTopUp({ db, payments, outbox }, topUpId).catch(throwPaymentsAway);
      note(res, { topUpId, state }, 'top-up settled');
      return getTopUp(db, topUpId);
    },
    async startRefund({ params: { top_up_id: topUpId }, body: { net_cents: netCents, note: text } }, res) {
      if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
      const by = internalCallerOf(res);
      const refund = await startRefund(db, { topUpId, netCents, note: text, by }, originOf(res));
      note(res, { topUpId, refundId: refund.refund_id, wantedCents: refund.wanted_cents }, 'refund started');
      return refund;
    },
    listRefunds: async ({ params: { after, workspace_id: workspaceId } }) => listRefunds(db, { after, workspaceId }),
    getRefund: async ({ params: { refund_id: refundId } }) => getRefund(db, refundId),
    listDocuments: async ({ params: { after, organization_id: organizationId } }) =>
      listAllDocuments(db, { after, organizationId }),
    getDocument: async ({ params: { document } }) => getDocument(db, document),
    listDisputes: async ({ params: { after } }) => listDisputes(db, after),
    async comparePayments({ params: { grace_seconds: graceSeconds } }) {
      if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
      return compareWithProcessor({ db, payments }, { graceSeconds }).catch(throwPaymentsAway);
    },
    async setAutomaticLimit({ params: { organization_id: id }, body: { month_limit_cents: limit } }, res) {
      const organizationId = await known(id);
      const by = internalCallerOf(res);
      const set = await setAccountLimit(db, { organizationId, monthLimitCents: limit, by }, originOf(res));
      note(res, { organizationId, limitCents: set.month_limit_cents }, 'limit of automatic top-ups set');
      return set;
    },
    listRates: async () => ({ rates: await listRates(db) }),
    async importRates({ body: { is_confirmed: isConfirmed, ...file } }, res) {
      const imported = await importRates(db, { ...file, isConfirmed, by: internalCallerOf(res) });
      note(res, { series: file.series, sha256: file.sha256, added: imported.added }, 'rates imported');
      return imported;
    },

    listOpenHolds: async ({ params: { after } }) => listHolds(db, { after }),
    listHolds: async ({ params: { organization_id: id, after } }) =>
      listHolds(db, { organizationId: await known(id), after }),
    async openHold({ params: { organization_id: id }, body }, res) {
      const organizationId = await known(id);
      const hold = await openHold(db, { organizationId, ...body, by: internalCallerOf(res) }, originOf(res));
      note(res, { organizationId, holdId: hold.hold_id, reason: hold.reason }, 'hold opened');
      return hold;
    },
    async endHold({ params: { hold_id: holdId } }, res) {
      const hold = await endHold(db, { holdId, by: internalCallerOf(res) }, originOf(res));
      note(res, { organizationId: hold.organization_id, holdId }, 'hold ended');
      return hold;
    },

    listVerifications: async ({ params: { organization_id: id, after } }) =>
      listVerifications(db, { organizationId: await known(id), after }),
    async addVerification({ params: { organization_id: id }, body: fields }, res) {
      const organizationId = await known(id);
      const by = internalCallerOf(res);
      const added = await addVerification(db, { organizationId, fields, by }, originOf(res));
      note(res, { organizationId, verificationId: added.verification_id, status: added.status }, 'verification added');
      return added;
    },
    async setVerification({ params: { verification_id: verificationId }, body: state }, res) {
      const by = internalCallerOf(res);
      const set = await setVerification(db, { verificationId, state, by }, originOf(res));
      note(res, { organizationId: set.organization_id, verificationId, status: set.status }, 'verification set');
      return set;
    },
  };
}

/** The address of an operator's machine names no person, and the person is the actor of the line. */
const originOf = (res: Response): Origin => ({
  address: res.req.ip ?? '',
  browser: '',
  requestId: String(res.getHeader(REQUEST_ID_HEADER)),
});
