import type { World } from './world.ts';

let world: World | undefined;

/** The world that the clock, the disks and the network of this process belong to. */
export function currentWorld(): World {
  if (!world) throw new Error('there is no world yet');
  return world;
}

export function enterWorld(next: World): void {
  world = next;
}
