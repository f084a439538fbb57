import { PAGES } from '@turnpike/console-api/pages';

/** The page of a workspace's payments, to which the Checkout page and mails lead. It shows what became of the top-up, if there is one. */
export function toBillingPage({
  organizationId,
  workspaceId,
  topUpId,
}: {
  organizationId: string;
  workspaceId: string;
  topUpId?: string;
}): string {
  const page = PAGES.billing.replace('$organizationId', organizationId).replace('$workspaceId', workspaceId);
  return topUpId === undefined ? page : `${page}?top_up=${topUpId}`;
}
