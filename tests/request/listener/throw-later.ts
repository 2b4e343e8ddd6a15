/** Loaded before the product by a test of the last defence: a signal makes an error that reaches nobody. */
const words = 'it broke with password=hunter2-hunter2 inside'
process.on('SIGUSR2', () => {
  throw new Error(words)
})
process.on('SIGWINCH', () => {
  void Promise.reject(new Error(words))
})
