import type { Component } from '../archive/toBillOfMaterials.ts';

/** A part of an image that others may share. */
export interface Layer {
  /** Unlike that of every other layer. */
  name: string;
  /** Installs what this machine lacks to make it; `say` is told before that takes long. */
  prepare?(say: (line: string) => void): Promise<unknown>;
  /** A text that changes whenever what `fill` writes would. */
  stamp(): Promise<string>;
  /** Writes the layer's files below `folder`, as they are below the image's root, and resolves with the packages they are of. */
  fill(folder: string): Promise<Component[]>;
}
