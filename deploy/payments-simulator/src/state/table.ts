import { invalid } from '../api/apiFault.ts';

/** Objects of one kind. */
const MAX_OBJECTS = 50_000;

export interface StoredObject {
  id: string;
  created?: number;
}

/** The mark of a removed object. */
export interface Removal {
  id: string;
  removed: true;
}

/** The objects of one kind in the order of their creation. An object is never changed in place. */
export class Table<T extends StoredObject> {
  readonly #objects = new Map<string, T>();
  readonly #noun: string;
  readonly #written: (object: T | Removal) => void;
  readonly #whenFull: 'refuse' | 'drop_oldest';

  /** Calls `written` with each object after it is added, changed or removed. */
  constructor(noun: string, written: (object: T | Removal) => void, whenFull: 'refuse' | 'drop_oldest' = 'refuse') {
    this.#noun = noun;
    this.#written = written;
    this.#whenFull = whenFull;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Throws a fault of the API if the table is full and may not drop its oldest object. */
  add(object: T): T {
    if (this.#objects.size >= MAX_OBJECTS) {
      if (this.#whenFull === 'refuse')
        throw invalid(`The simulator has ${MAX_OBJECTS} objects of kind ${this.#noun} and takes no more.`);
      for (const id of this.#objects.keys()) {
        this.remove(id);
        break;
      }
    }
    return this.put(object);
  }

  /** Adds an object or replaces the one of the same id. */
  put(object: T): T {
    this.#objects.set(object.id, object);
    this.#written(object);
    return object;
  }

  /** Replaces an object by a copy with other values. Throws a fault of the API if it does not exist. */
  update(id: string, values: Partial<T>): T {
    return this.put({ ...this.get(id), ...values });
  }

  remove(id: string): void {
    if (this.#objects.delete(id)) this.#written({ id, removed: true });
  }

  find(id: string): T | undefined {
    return this.#objects.get(id);
  }

  /** Throws `resource_missing` if there is no such object. */
  get(id: string, { param = 'id', status = 404 }: { param?: string; status?: number } = {}): T {
    const object = this.#objects.get(id);
    if (object === undefined)
      throw invalid(`No such ${this.#noun}: '${id}'`, { status, code: 'resource_missing', param });
    return object;
  }

  /** Returns the objects, the oldest first. */
  list(): T[] {
    return Array.from(this.#objects.values());
  }

  /** Puts back an object that a file has. Calls nothing. */
  load(object: T | Removal): void {
    if ('removed' in object && object.removed === true) this.#objects.delete(object.id);
    else this.#objects.set(object.id, object as T);
  }
}
