/* Opening shared libraries whose files may be of no use. The CUDA plug-in has a copy of this code.
 */
#ifndef GP_LIBRARY_H
#define GP_LIBRARY_H

/* dlopen of a path, or of a name for the linker to find. NULL with the reason in *why, which stays
 * valid until this thread's next call. A file that is cut off would end the program by a signal
 * while it is read: it is refused, as is one for another processor. The caller keeps the handle. */
void *gp_library_open(const char *path, int flags, const char **why);

#endif
