/** The state of one request in a walk: its window, the pages that it may still read, and what it has found so far. */
import type { CallContext } from '#providers/port.ts'
import type { HeldPage } from './page-memory.ts'

/** One request in a walk. */
export interface WindowRead<Page> {
  readonly offset: number
  readonly limit: number
  readonly call: CallContext
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
  /** New pages that this request may still read (reading R17). */
  pagesLeft: number
  /** All pages that it has read, new or not. */
  pagesRead: number
  /** Pages of the window, as far as they are known. */
  readonly shown: Set<HeldPage<Page>>
  /** Rows that were mapped while pages were awaited, by their places on their page. */
  readonly mapped: Map<Page, unknown[]>
  /** Up to which place of the window. */
  mappedTo: number
  /**
   * Pages fetched again during this request, so their content is current; each with what tells it from another content of
   * the same page (empty where pages are not numbered).
   */
  readonly fetched: Map<HeldPage<Page>, string>
  /** Some of them that were the same twice: at the moment between, all of them were as they are. */
  steady: ReadonlySet<HeldPage<Page>>
  /**
   * 'due' when one of them has no row of the connection any more: the consent is checked, once, before its rows count
   * as deleted.
   */
  doubt: 'none' | 'due' | 'settled'
  /** Streams that already had pages: a failure may come from an expired cursor. */
  resumed: ReadonlySet<number>
  /** Streams that were restarted; each at most once per request. */
  readonly restarted: Set<number>
  /** The whole walk was restarted. */
  renewed: boolean
}
