import { auditKey } from '../commands/auditKey.ts';
import { capWorkspace } from '../commands/capWorkspace.ts';
import { addCredit, takeCredit } from '../commands/changeCredit.ts';
import { endHold, openHold } from '../commands/changeHolds.ts';
import { blockKey, revokeKey, unblockKey } from '../commands/changeKeyStatus.ts';
import { holdWorkspace, releaseWorkspace } from '../commands/changeWorkspaceHold.ts';
import { checkCatalog } from '../commands/checkCatalog.ts';
import { checkEngines } from '../commands/checkEngines.ts';
import { comparePayments } from '../commands/comparePayments.ts';
import { compareWallets } from '../commands/compareWallets.ts';
import { createKey } from '../commands/createKey.ts';
import { createWorkspace } from '../commands/createWorkspace.ts';
import { confirmEpoch, listDayTotals, listEpochs } from '../commands/dayTotals.ts';
import { dismissDeadLetter } from '../commands/dismissDeadLetter.ts';
import { drainEngine, undrainEngine } from '../commands/drainEngine.ts';
import { endOldSecret } from '../commands/endOldSecret.ts';
import { findKeys } from '../commands/findKeys.ts';
import { listInvoices, showInvoice } from '../commands/invoices.ts';
import { listAudit } from '../commands/listAudit.ts';
import { listBackends } from '../commands/listBackends.ts';
import { listCatalogVersions } from '../commands/listCatalogVersions.ts';
import { listCredits } from '../commands/listCredits.ts';
import { listDeadLetters } from '../commands/listDeadLetters.ts';
import { listDisputes } from '../commands/listDisputes.ts';
import { listEngines } from '../commands/listEngines.ts';
import { listHolds } from '../commands/listHolds.ts';
import { listKeys } from '../commands/listKeys.ts';
import { listMembers } from '../commands/listMembers.ts';
import { listModels } from '../commands/listModels.ts';
import { listOrganizations } from '../commands/listOrganizations.ts';
import { listOverdueJobs } from '../commands/listOverdueJobs.ts';
import { listWorkspaces } from '../commands/listWorkspaces.ts';
import { importRates, listRates } from '../commands/rates.ts';
import { reconcileBooks } from '../commands/reconcileBooks.ts';
import { listRefunds, showRefund, startRefund } from '../commands/refunds.ts';
import { renameWorkspace } from '../commands/renameWorkspace.ts';
import { replayDeadLetters } from '../commands/replayDeadLetters.ts';
import { rotateKey } from '../commands/rotateKey.ts';
import { setAutomaticLimit } from '../commands/setAutomaticLimit.ts';
import { showCall } from '../commands/showCall.ts';
import { showConsole } from '../commands/showConsole.ts';
import { showDeadLetter } from '../commands/showDeadLetter.ts';
import { showKey } from '../commands/showKey.ts';
import { showModel } from '../commands/showModel.ts';
import { showOrganization } from '../commands/showOrganization.ts';
import { showRecovery } from '../commands/showRecovery.ts';
import { showStatus } from '../commands/showStatus.ts';
import { showUsage } from '../commands/showUsage.ts';
import { showWallet } from '../commands/showWallet.ts';
import { showWorkspace } from '../commands/showWorkspace.ts';
import { disableModel, enableModel } from '../commands/switchModel.ts';
import { listTopUps, settleTopUp } from '../commands/topUps.ts';
import { updateKey } from '../commands/updateKey.ts';
import { addVerification, listVerifications, setVerification } from '../commands/verifications.ts';
import type { Command } from './command.ts';

/** Every command, in the order of the help. */
export const COMMANDS: Command[] = [
  showStatus,
  showRecovery,
  showConsole,
  createKey,
  listKeys,
  findKeys,
  showKey,
  updateKey,
  rotateKey,
  endOldSecret,
  blockKey,
  unblockKey,
  revokeKey,
  listOrganizations,
  showOrganization,
  setAutomaticLimit,
  listMembers,
  listHolds,
  openHold,
  endHold,
  listVerifications,
  addVerification,
  setVerification,
  listAudit,
  auditKey,
  listDayTotals,
  listEpochs,
  confirmEpoch,
  listTopUps,
  settleTopUp,
  startRefund,
  listRefunds,
  showRefund,
  listInvoices,
  showInvoice,
  listDisputes,
  comparePayments,
  showWallet,
  compareWallets,
  listRates,
  importRates,
  createWorkspace,
  listWorkspaces,
  showWorkspace,
  renameWorkspace,
  capWorkspace,
  holdWorkspace,
  releaseWorkspace,
  addCredit,
  takeCredit,
  listCredits,
  listModels,
  showModel,
  checkCatalog,
  listCatalogVersions,
  disableModel,
  enableModel,
  showUsage,
  showCall,
  listEngines,
  checkEngines,
  drainEngine,
  undrainEngine,
  reconcileBooks,
  listDeadLetters,
  showDeadLetter,
  replayDeadLetters,
  dismissDeadLetter,
  listBackends,
  listOverdueJobs,
];
