/**
 * For the tests of the conformance kit: what breaks a promise on its way through the proxy. A check that no
 * mutation makes fail would prove nothing.
 */
import type { Mutation, Passed, Passing } from './proxy.ts'

export interface Broken {
  /** The whole name of a check, or what fits the names of several. */
  readonly check: string | RegExp
  readonly how: string
  readonly mutate: Mutation
  /** Whose key is used; a Professional's when absent. */
  readonly plan?: 'developer'
}

type Change = (answer: Passing, request: Passed) => void

/** Good answers of this path. */
export const of =
  (path: string, change: Change): Mutation =>
  (answer, request) => {
    if (request.path === path && answer.status === 200) change(answer, request)
  }
export const rowsOf = (answer: Passing): Record<string, unknown>[] =>
  answer.body?.data ?? answer.body?.categories ?? []
/** A field of the first row. */
export const set = (path: string, field: string, value: unknown): Mutation =>
  of(path, (answer) => {
    const [row] = rowsOf(answer)
    if (row !== undefined) row[field] = value
  })
export const drop = (path: string, field: string): Mutation =>
  of(path, (answer) => {
    delete rowsOf(answer)[0]?.[field]
  })
/** Windows behind the first. */
export const later = (path: string, change: Change): Mutation =>
  of(path, (answer, request) => {
    if (Number(request.query.get('offset') ?? 0) > 0) change(answer, request)
  })
export const refused =
  (change: Change): Mutation =>
  (answer, request) => {
    if (answer.status >= 400) change(answer, request)
  }
export const status = (value: number) =>
  refused((answer) => {
    answer.status = value
  })
export const withoutDetails = refused((answer) => void delete answer.body?.error?.details)
export const otherCode = refused((answer) => {
  if (answer.body?.error) answer.body.error.code = 'other_code'
})
export const otherMessage = refused((answer) => {
  if (answer.body?.error) answer.body.error.message = 'No.'
})
export const header =
  (name: string, value: string | null): Mutation =>
  (answer) => {
    if (value === null) delete answer.headers[name]
    else answer.headers[name] = value
  }
