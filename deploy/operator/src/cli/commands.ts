import { auditCommands } from '../commands/audit.ts';
import { catalogCommands } from '../commands/catalog.ts';
import { creditCommands } from '../commands/credits.ts';
import { dayTotalCommands } from '../commands/dayTotals.ts';
import { deadLetterCommands } from '../commands/deadLetters.ts';
import { engineCommands } from '../commands/engines.ts';
import { holdCommands } from '../commands/holds.ts';
import { invoiceCommands } from '../commands/invoices.ts';
import { keySecretCommands } from '../commands/keySecrets.ts';
import { keyCommands } from '../commands/keys.ts';
import { mediaCommands } from '../commands/media.ts';
import { modelCommands } from '../commands/models.ts';
import { organizationCommands } from '../commands/organizations.ts';
import { paymentCommands } from '../commands/payments.ts';
import { rateCommands } from '../commands/rates.ts';
import { reconcileBooks } from '../commands/reconcileBooks.ts';
import { refundCommands } from '../commands/refunds.ts';
import { showCall } from '../commands/showCall.ts';
import { showConsole } from '../commands/showConsole.ts';
import { showRecovery } from '../commands/showRecovery.ts';
import { showStatus } from '../commands/showStatus.ts';
import { showUsage } from '../commands/showUsage.ts';
import { topUpCommands } from '../commands/topUps.ts';
import { verificationCommands } from '../commands/verifications.ts';
import { walletCommands } from '../commands/wallets.ts';
import { workspaceCommands } from '../commands/workspaces.ts';
import type { Command } from './command.ts';

/** Every command, in the order of the help. */
export const COMMANDS: Command[] = [
  showStatus,
  showRecovery,
  showConsole,
  ...keyCommands,
  ...keySecretCommands,
  ...organizationCommands,
  ...holdCommands,
  ...verificationCommands,
  ...auditCommands,
  ...dayTotalCommands,
  ...topUpCommands,
  ...refundCommands,
  ...invoiceCommands,
  ...paymentCommands,
  ...walletCommands,
  ...rateCommands,
  ...workspaceCommands,
  ...creditCommands,
  ...modelCommands,
  ...catalogCommands,
  showUsage,
  showCall,
  ...engineCommands,
  reconcileBooks,
  ...deadLetterCommands,
  ...mediaCommands,
];
