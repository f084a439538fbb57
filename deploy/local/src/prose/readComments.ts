/** A comment without its delimiters: its lines, and the number of the first. Comments `//` on adjacent lines are one. */
export interface Comment {
  line: number;
  lines: string[];
}

/** A token of TypeScript as far as comments need it: comment, string, template delimiter, word or number, any other character. */
const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"|[\p{L}\p{N}_$]+|\s+|[\s\S]/uy;
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y;
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
/** The words before a slash that begins a regular expression; after any other word a slash divides. */
const BEFORE_EXPRESSION = /^(?:return|typeof|case|in|of|do|else|delete|void|throw|new|await|yield|instanceof)$/;

/** Reads the comments of a TypeScript or JavaScript source, and no string, template or regular expression as one. */
export function readComments(source: string): Comment[] {
  const comments: (Comment & { isBlock: boolean; end: number })[] = [];
  // Braces that are open in the expression of each template around the position.
  const openBraces: number[] = [];
  let line = 1;
  let position = 0;
  let previous = '';

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = position;
    const [text] = pattern.exec(source) ?? [];
    if (text !== undefined) {
      position += text.length;
      line += text.split('\n').length - 1;
    }
    return text;
  };
  const takeTemplateText = () => {
    if (take(TEMPLATE_TEXT)?.endsWith('{')) openBraces.push(0);
    previous = '`';
  };

  while (position < source.length) {
    const startedOn = line;
    if (source[position] === '/' && !/^\/[/*]/.test(source.slice(position, position + 2))) {
      const isExpression = /^[^\p{L}\p{N}_$)\]}`'"]/u.test(previous) || BEFORE_EXPRESSION.test(previous) || !previous;
      if (isExpression && take(REGULAR_EXPRESSION)) {
        previous = ')';
        continue;
      }
    }
    const token = take(TOKEN) as string;
    if (/^\/[/*]/.test(token)) {
      const isBlock = token[1] === '*';
      const last = comments.at(-1);
      const isOwnLine = /(?:^|\n)[ \t]*$/.test(
        source.slice(Math.max(0, position - token.length - 120), position - token.length),
      );
      if (!isBlock && last && !last.isBlock && last.end === startedOn - 1 && isOwnLine) {
        last.lines.push(token.slice(2).trim());
        last.end = line;
      } else {
        const text = isBlock ? token.slice(2, -2) : token.slice(2);
        const lines = text.split('\n').map((part) => part.replace(/^\s*\*+/, '').trim());
        comments.push({ line: startedOn, lines, isBlock, end: line });
      }
      continue;
    }
    if (/^\s/.test(token)) continue;
    previous = token;
    const depth = openBraces.at(-1);
    if (token === '`') takeTemplateText();
    else if (depth !== undefined && token === '{') openBraces[openBraces.length - 1] = depth + 1;
    else if (depth !== undefined && token === '}') {
      if (depth > 0) openBraces[openBraces.length - 1] = depth - 1;
      else {
        openBraces.pop();
        takeTemplateText();
      }
    }
  }
  return comments.map(({ line: first, lines }) => ({ line: first, lines }));
}
