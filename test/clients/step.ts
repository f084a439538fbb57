import type { Account } from '../support/makeAccount.ts';
import type { NewKey } from '../support/operator.ts';
import type { TestStack } from '../support/startTestStack.ts';
import type { Access, Client } from './client.ts';
import type { Order, Seen, Skill } from './order.ts';

export interface StepContext {
  client: Client;
  stack: TestStack;
  /** Whose key the client has; nobody else uses it. */
  account: Account;
  /** Gives the client an order. By default it has that key and one retry. */
  ask(order: Order, access?: Partial<Access>): Promise<Seen>;
}

/** One thing that every client does and shows, in its own words. */
export interface Step {
  /** The promise, as the end of a sentence that begins with the client's name. */
  does: string;
  needs: Skill;
  key?: NewKey;
  check(context: StepContext): Promise<void>;
}

/** The headers that a call is looked up by. */
export const headersOf = (call: Seen['calls'][number] | undefined): Headers =>
  new Headers({ 'x-router-call-id': call?.callId ?? '' });
