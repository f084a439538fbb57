import { registerHooks } from 'node:module';

const root = new URL('../../../', import.meta.url).href;
const STAND_INS = new Map([
  ['node:timers/promises', new URL('./timersPromises.ts', import.meta.url).href],
  ['node:fs/promises', new URL('./fsPromises.ts', import.meta.url).href],
  ['undici', new URL('./undici.ts', import.meta.url).href],
]);

/** In a file of the services or libs, one text for another. */
export interface SourceChange {
  /** Its path from the root of the repository. */
  file: string;
  from: string;
  to: string;
}

/**
 * From here on, what the services and libs import for waiting, for files and for HTTP is the simulation's. Their own code is
 * what runs in production, to the letter. Nothing of them may have been imported before.
 * `mutant` changes that code.
 */
export function registerStandIns(mutant: SourceChange | undefined): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const standIn = STAND_INS.get(specifier);
      const from = context.parentURL ?? '';
      const isOurs = from.startsWith(`${root}services/`) || from.startsWith(`${root}libs/`);
      if (standIn && isOurs) return { url: standIn, shortCircuit: true };
      return nextResolve(specifier, context);
    },
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!mutant || url !== `${root}${mutant.file}`) return loaded;
      const text = String(loaded.source);
      if (!text.includes(mutant.from)) throw new Error(`${mutant.file} has no “${mutant.from}” to mutate`);
      return { ...loaded, source: text.replace(mutant.from, () => mutant.to) };
    },
  });
}
