import { setTimeout as pause } from 'node:timers/promises';
import { runTurnpikeHere } from '../../support/runTurnpike.ts';
import type { CellContext } from '../cellContext.ts';
import type { OpenPage, Payer, PaymentDesk } from './paymentDesk.ts';

const ACTS_OF_A_PAYER = 6;
const AT_ONCE = 4;
const MOST_PAUSE_MS = 400;
const ASK_AGAIN_MS = 250;
const ASKED_WITHIN_MS = 60_000;
const REFUND_ASKED_TIMES = 8;

/** Acts of a payer, of the operator and of the payer's bank. Half of them pay, because the others need a payment. */
const ACTS = [
  'pay',
  'pay',
  'pay',
  'pay',
  'decline',
  'abandon',
  'refund',
  'refund',
  'dispute',
  'dispute',
  'end',
] as const;
type Act = (typeof ACTS)[number];

interface Step {
  act: Act;
  /** Chooses among the payments, amounts and ends of disputes. */
  choice: number;
  pauseMs: number;
}

/** A payer, and what is left to be refunded and disputed. */
interface Actor {
  payer: Payer;
  steps: Step[];
  /** Each payment is refunded or disputed once at most. */
  payments: string[];
  disputes: string[];
}

/** Sequences of acts, drawn before the first of them, so that they follow from the seed alone. */
export class DrawnActs {
  readonly #context: CellContext;
  readonly #desk: PaymentDesk;
  readonly #actors: Actor[];
  readonly #counts = new Map<string, number>();

  constructor(context: CellContext, desk: PaymentDesk) {
    const { random } = context;
    const drawStep = (): Step => ({
      act: ACTS[random.between(0, ACTS.length - 1)] ?? 'pay',
      choice: random.between(0, 1_000),
      pauseMs: random.between(0, MOST_PAUSE_MS),
    });
    this.#context = context;
    this.#desk = desk;
    this.#actors = desk.payers.map((payer) => ({
      payer,
      steps: Array.from({ length: ACTS_OF_A_PAYER }, drawStep),
      payments: [],
      disputes: [],
    }));
  }

  /** Performs the acts, those of some payers at once. */
  async perform(): Promise<void> {
    const waiting = [...this.#actors];
    const work = async (): Promise<void> => {
      for (let actor = waiting.pop(); actor; actor = waiting.pop())
        for (const step of actor.steps) {
          await pause(step.pauseMs);
          const what = (await this.#act(actor, step)) ? step.act : `no ${step.act}`;
          this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
        }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** Returns how often each act came to something, and how often it could not. */
  describe(): string {
    const counts = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, count]) => `${count} ${what}`);
    return `${this.#actors.length} sequences of acts: ${counts.join(', ')}`;
  }

  /** Returns whether there was something to do. */
  async #act(actor: Actor, { act, choice }: Step): Promise<boolean> {
    const { payments: processor, stackFile } = this.#context.stack;
    if (act === 'end') {
      const [disputeId] = actor.disputes.splice(0, 1);
      if (disputeId !== undefined) await (choice % 2 === 0 ? processor.win(disputeId) : processor.lose(disputeId));
      return disputeId !== undefined;
    }
    if (act === 'refund' || act === 'dispute') {
      const [topUpId] = actor.payments.splice(choice % Math.max(actor.payments.length, 1), 1);
      if (topUpId === undefined) return false;
      if (act === 'dispute') {
        actor.disputes.push(await processor.dispute(await this.#findCharge(topUpId)));
        return true;
      }
      const amount = choice % 3 === 0 ? [] : ['--amount', String(1 + (choice % 4))];
      // A payment whose webhook is lost has no credit yet, and a control plane that was just killed does not answer.
      for (let asked = 0; asked < REFUND_ASKED_TIMES; asked += 1) {
        const { code } = await runTurnpikeHere(['refunds', 'start', topUpId, ...amount, '--yes'], { stackFile });
        if (code === 0) return true;
        await pause(ASK_AGAIN_MS);
      }
      return false;
    }
    const page = await this.#ask(actor.payer);
    if (!page) return false;
    if (act !== 'abandon') await this.#desk.pay(page, act === 'decline' ? 'isDeclined' : 'pays');
    if (act === 'pay') actor.payments.push(page.topUpId);
    return true;
  }

  /**
   * Asks for a payment page until there is one. Returns undefined where the account is on hold, as after a dispute, or has ten open pages:
   * a page whose answer was lost stays open.
   */
  async #ask(payer: Payer): Promise<OpenPage | undefined> {
    const deadline = performance.now() + ASKED_WITHIN_MS;
    let status = 0;
    while (performance.now() < deadline) {
      const answer = await this.#desk.ask(payer).catch(() => ({ status: 503, page: undefined }));
      if (answer.page || answer.status === 409 || answer.status === 429) return answer.page;
      status = answer.status;
      await pause(ASK_AGAIN_MS);
    }
    this.#context.check(false, `no payment page within ${ASKED_WITHIN_MS / 1_000} s: answered ${status} at last`);
    return undefined;
  }

  async #findCharge(topUpId: string): Promise<string> {
    const { charges } = await this.#context.stack.payments.readLog();
    const charge = charges.find(({ status, metadata }) => status === 'succeeded' && metadata.top_up_id === topUpId);
    if (!charge) throw new Error(`the processor has no charge of ${topUpId}`);
    return charge.id;
  }
}
