interface Place<Member> {
  member: Member;
  before: Place<Member> | undefined;
  after: Place<Member> | undefined;
  isTaken: boolean;
}

/**
 * Those that are here now, oldest first, of what comes and goes with every call.
 *
 * Not a `Set`: V8 makes a new table of one now and then, and has the old table point to the new one. An old table that has lived
 * through two collections is there until the whole heap is collected, and until then it keeps, through all that followed it, each
 * member that came since: with calls as members a sixth to a third of all that was allocated outlived its use, and was copied twice.
 */
export class Roster<Member> implements Iterable<Member> {
  #first: Place<Member> | undefined;
  #last: Place<Member> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Takes a member in. What is returned lets it go; again, it does nothing. */
  add(member: Member): () => void {
    const place: Place<Member> = { member, before: this.#last, after: undefined, isTaken: true };
    if (this.#last) this.#last.after = place;
    else this.#first = place;
    this.#last = place;
    this.#size += 1;
    return () => this.#remove(place);
  }

  /** Those of the moment when it began: members may come and go meanwhile. */
  [Symbol.iterator](): Iterator<Member> {
    const members: Member[] = [];
    for (let place = this.#first; place; place = place.after) members.push(place.member);
    return members[Symbol.iterator]();
  }

  #remove(place: Place<Member>): void {
    if (!place.isTaken) return;
    place.isTaken = false;
    this.#size -= 1;
    const { before, after } = place;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    // It may lie where only a collection of the whole heap comes by, and would keep its neighbours until then.
    place.before = undefined;
    place.after = undefined;
  }
}
