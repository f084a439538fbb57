import type { Db, Tx } from '../src/database/openDatabase.ts';

/** Later than any statement of a transaction. */
export const NEVER = 99;

/** Lets a transaction crash at the statement of this number, counted from 0. */
export function crashAt(tx: Tx, step: number): Tx {
  let steps = 0;
  const wrap = (target: object): object =>
    new Proxy(target, {
      get(_, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member === 'function')
          return (...args: unknown[]) => {
            steps += 1;
            if (steps > step) throw new Error('crashed');
            return member.apply(target, args);
          };
        return typeof member === 'object' && member !== null ? wrap(member) : member;
      },
    });
  return wrap(tx) as Tx;
}

/** A database whose transactions of Prisma crash at the statement of this number. */
export const crashingDb = (db: Db, step: number): Db =>
  new Proxy(db, {
    get(target, name) {
      if (name !== '$transaction') return Reflect.get(target, name);
      return (work: (tx: Tx) => Promise<unknown>) => target.$transaction((tx) => work(crashAt(tx, step)));
    },
  });
