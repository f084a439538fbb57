import { OrderedSet } from '@turnpike/lifecycle/orderedSet';

/** The streams under way in this process, which end before it does. */
export class OpenStreams {
  readonly #open = new OrderedSet<() => void>();
  #isCut = false;

  /** Whether every stream has been cut, so that no other may begin. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Adds a stream that `cut` ends. The returned function removes it. */
  add(cut: () => void): () => void {
    return this.#open.add(cut);
  }

  /** Ends every stream under way, and those that follow. */
  cutAll(): void {
    this.#isCut = true;
    for (const cut of this.#open) cut();
  }
}
