/** The errors while pages are read and compared with known rows; `walk.ts` handles them. */

/** Numbered pages are inconsistent: rows were added or deleted while they were read. */
export class ShiftedRows extends Error {
  override readonly name = 'ShiftedRows'
}

/** None of the known rows exists any more. */
export class ReplacedRows extends Error {
  override readonly name = 'ReplacedRows'
}

/** The next page of a page was read before. */
export class CircularPages extends Error {
  override readonly name = 'CircularPages'
}

/** Another process saved its walk repeatedly while this one was read. */
export class ContestedWalk extends Error {
  override readonly name = 'ContestedWalk'
}

/** A page is needed whose body was evicted, so it must be fetched again. */
export class MissingPage extends Error {
  override readonly name = 'MissingPage'
  readonly page: number

  constructor(page: number) {
    super('the body of a page was evicted')
    this.page = page
  }
}

/** Names the stream that failed; `cause` is the original error. */
export class StreamTrouble extends Error {
  override readonly name = 'StreamTrouble'
  readonly stream: number

  constructor(stream: number, cause: unknown) {
    super('a stream could not be read', { cause })
    this.stream = stream
  }
}
