import { payAt, type TEST_CARDS } from '@turnpike/test-support/payAt';
import { AccountUser, type AccountWorkspace } from '../../support/accountUser.ts';
import type { CellContext } from '../cellContext.ts';

/** A user may have 20 organizations, and the first workspace has credit that was not paid for. */
const WORKSPACES_OF_A_USER = 19;
const ADDRESS = { country: 'IE', postal_code: 'D02', line1: '1 Quay', city: 'Dublin' };
const MOST_CENTS = 50_000;
const LEAST_CENTS = 500;

/** A payment page that was opened. */
export interface OpenPage {
  topUpId: string;
  url: string;
}

/** An owner of a workspace without credit, who pays as a browser does. */
export interface Payer {
  user: AccountUser;
  workspace: AccountWorkspace;
}

/** The payers of a cell, and what they paid. */
export class PaymentDesk {
  readonly payers: Payer[] = [];
  /** The top-ups whose payment the processor took. */
  readonly paid = new Set<string>();
  /** The top-ups whose card was declined. */
  readonly declined = new Set<string>();
  readonly #context: CellContext;

  private constructor(context: CellContext) {
    this.#context = context;
  }

  static async open(context: CellContext, { payers }: { payers: number }): Promise<PaymentDesk> {
    const desk = new PaymentDesk(context);
    const { description, region } = context.stack;
    while (desk.payers.length < payers) {
      const user = await AccountUser.signIn(description);
      await user.makeWorkspace(region);
      const count = Math.min(WORKSPACES_OF_A_USER, payers - desk.payers.length);
      for (let made = 0; made < count; made += 1)
        desk.payers.push({ user, workspace: await user.makeWorkspace(region) });
    }
    return desk;
  }

  /** Asks for a payment page of a drawn amount. */
  async ask({ user, workspace }: Payer): Promise<{ status: number; page: OpenPage | undefined }> {
    const netCents = this.#context.random.between(LEAST_CENTS, MOST_CENTS);
    const answer = await user.send('POST', `${workspace.path}/top-ups`, { net_cents: netCents });
    const body = (await answer.json()) as { top_up?: { top_up_id: string }; checkout_url?: string };
    const page =
      body.top_up && body.checkout_url ? { topUpId: body.top_up.top_up_id, url: body.checkout_url } : undefined;
    return { status: answer.status, page };
  }

  /**
   * Opens a payment page of each payer. A payer whose page is refused with 502 asks up to `again` times more. A processor that fails now
   * and then may fail all attempts of one call.
   */
  async openPages({ payers = this.payers, again = 0 } = {}): Promise<OpenPage[]> {
    const pages: OpenPage[] = [];
    for (const payer of payers) {
      let answer = await this.ask(payer);
      for (let asked = 0; asked < again && answer.status === 502; asked += 1) answer = await this.ask(payer);
      if (!answer.page) throw new Error(`a payment page was answered ${answer.status}`);
      pages.push(answer.page);
    }
    return pages;
  }

  /** Pays on a page. */
  async pay({ topUpId, url }: OpenPage, card: keyof typeof TEST_CARDS = 'pays'): Promise<void> {
    const visit = await payAt(url, { card, address: ADDRESS });
    if ('location' in visit) this.paid.add(topUpId);
    else this.declined.add(topUpId);
  }
}
