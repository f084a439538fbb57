import { registerHooks } from 'node:module';

const root = new URL('../../../', import.meta.url).href;
const STAND_INS = new Map([
  ['node:timers/promises', new URL('./timersPromises.ts', import.meta.url).href],
  ['node:fs/promises', new URL('./fsPromises.ts', import.meta.url).href],
  ['undici', new URL('./undici.ts', import.meta.url).href],
]);

/**
 * From here on, what the services and libs import for waiting, for files and for HTTP is the simulation's. Their own code is
 * what runs in production, to the letter. Nothing of them may have been imported before.
 */
export function registerStandIns(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const standIn = STAND_INS.get(specifier);
      const from = context.parentURL ?? '';
      const isOurs = from.startsWith(`${root}services/`) || from.startsWith(`${root}libs/`);
      if (standIn && isOurs) return { url: standIn, shortCircuit: true };
      return nextResolve(specifier, context);
    },
  });
}
