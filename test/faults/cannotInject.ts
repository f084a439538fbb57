/**
 * Thrown by a cell that cannot inject its fault on this machine, before it has broken anything. The message names what is missing
 * and how to get it. Such a cell is reported as not tested, and never as passed.
 */
export class CannotInject extends Error {
  override readonly name = 'CannotInject';
}
