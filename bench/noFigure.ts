/** Why there is no figure. */
export class NoFigure extends Error {}
