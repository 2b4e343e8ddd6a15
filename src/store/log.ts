/** How the store reports to operators: the caller that opens it passes in where log lines go. */

export interface StoreLogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly [detail: string]: unknown
}
export type StoreLog = (line: StoreLogLine) => void
