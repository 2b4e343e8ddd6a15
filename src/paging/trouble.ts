/** What ends the use of a snapshot. None of these is a failure of the provider by itself. */

/** The snapshot cannot go on: a page's body is gone, or a cursor that was stored is not taken any more. */
export class SnapshotGone extends Error {
  override readonly name = 'SnapshotGone'
}

/** Numbered pages disagree: rows moved while they were read. */
export class RowsMoved extends Error {
  override readonly name = 'RowsMoved'
}

/** A window would not continue what was shown before. `broken`: the generation of which no window can; null: none. */
export class ListChanged extends Error {
  override readonly name = 'ListChanged'
  readonly broken: string | null
  constructor(broken: string | null) {
    super('the list changed')
    this.broken = broken
  }
}

/** Another process saved what it read first; this one goes on from there. */
export class SavedByOther extends Error {
  override readonly name = 'SavedByOther'
}
