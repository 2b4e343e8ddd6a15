/* Adds a button that copies to each element with the attribute data-copy. Pages work without this script. */
for (const source of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'secondary outline copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-label', `Copy ${source.getAttribute('data-copy')}`)
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent)
      button.textContent = 'Copied'
    } catch {
      // Without the permission to write, the text is selected, so that the person can copy it.
      getSelection().selectAllChildren(source)
      button.textContent = 'Selected'
    }
  })
  source.after(button)
}
