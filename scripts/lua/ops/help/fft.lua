--!plain
-- Help texts of Fourier transforms; their form: scripts/lua/help/topics.lua.
return [==[
fft.fft (see fft.ifft, fft.rfft, fft.fft2, fft.fftfreq)
    gpush has no complex tensors: a last dim of 2 holds the real and the imaginary part, where
    PyTorch has a complex number. fft.rfft does half the work for a real tensor.
    options: norm: 'backward' puts the factor 1 / n into the inverse, 'forward' puts it here,
        'ortho' puts 1 / sqrt(n) into both
    shapes: real … x n …: … x n … x 2; complex=true: the same as x
    > fft.fft(tensor{1.0, 2.0, 3.0, 4.0})
    --> tensor({{10.0,  0.0},
    -->         {-2.0,  2.0},
    -->         {-2.0,  0.0},
    -->         {-2.0, -2.0}}, f32 4x2 cpu)
fft.ifft (see fft.fft, fft.irfft)
    Give the norm that fft.fft was given: 'backward' multiplies by 1 / n here.
    shapes: … x n … x 2: the same
    > fft.ifft(tensor{{2.0, 0.0}, {0.0, 0.0}})
    --> tensor({{1.0, 0.0},
    -->         {1.0, 0.0}}, f32 2x2 cpu)
fft.rfft (see fft.irfft, fft.fft, fft.rfftfreq)
    norm: as in fft.fft.
    shapes: … x n …: … x n // 2 + 1 … x 2
    > fft.rfft(tensor{1.0, 2.0, 3.0, 4.0})
    --> tensor({{10.0,  0.0},
    -->         {-2.0,  2.0},
    -->         {-2.0,  0.0}}, f32 3x2 cpu)
fft.irfft (see fft.rfft, fft.ifft)
    Half of the frequencies do not say whether n was even; give n if it was odd.
    shapes: … x m … x 2: … x n …, n being 2 m - 2 if not given
    > fft.irfft(fft.rfft(tensor{1.0, 2.0, 3.0, 2.0})) --> tensor({1.0, 2.0, 3.0, 2.0}, f32 4 cpu)
fft.fft2 (see fft.ifft2, fft.rfft2, fft.fftn)
    norm and pairs: as in fft.fft. dims are counted without that of pairs.
    shapes: real … x h x w: … x h x w x 2; complex=true: the same as x
    > fft.fft2(tensor{{1.0, 2.0}, {3.0, 4.0}}):select(-1, 1)
    --> tensor({{10.0, -2.0},
    -->         {-4.0,  0.0}}, f32 2x2 cpu)
fft.ifft2 (see fft.fft2, fft.irfft2)
    norm: as in fft.ifft. dims are counted without that of pairs.
    shapes: … x h x w x 2: the same
    > fft.ifft2(fft.fft2(tensor{{1.0, 2.0}, {3.0, 4.0}})):select(-1, 1)
    --> tensor({{1.0, 2.0},
    -->         {3.0, 4.0}}, f32 2x2 cpu)
fft.rfft2 (see fft.irfft2, fft.fft2, fft.rfftn)
    norm and pairs: as in fft.fft.
    shapes: … x h x w: … x h x w // 2 + 1 x 2
    > fft.rfft2(ones(2, 4)).shape[2] --> 3
fft.irfft2 (see fft.rfft2, fft.ifft2)
    Give s if the last size was odd, which the frequencies do not say. dims are counted without that
    of pairs.
    shapes: … x h x m x 2: … x h x w, w being 2 m - 2 if not given
    > fft.irfft2(fft.rfft2(tensor{{1.0, 2.0}, {3.0, 4.0}}))
    --> tensor({{1.0, 2.0},
    -->         {3.0, 4.0}}, f32 2x2 cpu)
fft.fftn (see fft.ifftn, fft.rfftn, fft.fft2)
    norm and pairs: as in fft.fft. dims are counted without that of pairs.
    shapes: real: x's, then 2; complex=true: the same as x
    > fft.fftn(ones(2, 2, 2))[1][1][1] --> tensor({8.0, 0.0}, f32 2 cpu)
fft.ifftn (see fft.fftn, fft.irfftn)
    norm: as in fft.ifft. dims are counted without that of pairs.
    shapes: … x 2: the same
    > fft.ifftn(fft.fftn(tensor{{1.0, 2.0}, {3.0, 4.0}})):select(-1, 1)
    --> tensor({{1.0, 2.0},
    -->         {3.0, 4.0}}, f32 2x2 cpu)
fft.rfftn (see fft.irfftn, fft.fftn)
    norm and pairs: as in fft.fft.
    shapes: … x n, n along the last of the dims: … x n // 2 + 1 x 2
    > fft.rfftn(ones(2, 2, 2))[1][1]
    --> tensor({{8.0, 0.0},
    -->         {0.0, 0.0}}, f32 2x2 cpu)
fft.irfftn (see fft.rfftn, fft.ifftn)
    Give s if the last size was odd, which the frequencies do not say. dims are counted without that
    of pairs.
    shapes: … x m x 2: … x n, n being 2 m - 2 if not given
    > fft.irfftn(fft.rfftn(tensor{{1.0, 2.0}, {3.0, 4.0}}))
    --> tensor({{1.0, 2.0},
    -->         {3.0, 4.0}}, f32 2x2 cpu)
fft.fftfreq (see fft.rfftfreq, fft.fftshift, fft.fft)
    In cycles per unit of d; the first element is frequency 0. fft.fftshift puts them in order.
    shapes: n, of the default dtype if none is given
    > fft.fftfreq(4) --> tensor({ 0.00,  0.25, -0.50, -0.25}, f32 4 cpu)
fft.rfftfreq (see fft.fftfreq, fft.rfft)
    In cycles per unit of d; the first element is frequency 0.
    shapes: n // 2 + 1, of the default dtype if none is given
    > fft.rfftfreq(4, 0.5) --> tensor({0.0, 0.5, 1.0}, f32 3 cpu)
fft.fftshift (see fft.ifftshift, fft.fftfreq, roll)
    The result of fft.fft ends in a dim of pairs, which must not be shifted; give the dims.
    > fft.fftshift(fft.fftfreq(4)) --> tensor({-0.50, -0.25,  0.00,  0.25}, f32 4 cpu)
fft.ifftshift (see fft.fftshift, roll)
    Differs from fft.fftshift where a size is odd.
    > fft.ifftshift(arange(1, 5)) --> tensor({3, 4, 5, 1, 2}, i64 5 cpu)
hann_window (see stft, hamming_window)
    options: periodic: true for spectra; false gives a symmetric window, for filters
    shapes: the result: window_length
    > hann_window(4) --> tensor({0.0, 0.5, 1.0, 0.5}, f32 4 cpu)
hamming_window (see stft, hann_window)
    options: periodic: true for spectra; false gives a symmetric window, for filters; alpha: mean;
        beta: amplitude
    shapes: the result: window_length
    > hamming_window(4) --> tensor({0.08, 0.54, 1.00, 0.54}, f32 4 cpu)
blackman_window (see stft, hann_window)
    options: periodic: true for spectra; false gives a symmetric window, for filters
    shapes: the result: window_length
    > blackman_window(4):max() --> tensor(1.0, f32 scalar cpu)
stft (see istft, fft.rfft, hann_window)
    PyTorch gives complex numbers; here the last dim has their two parts, as torch.view_as_real.
    options: hop_length: distance between two windows, n_fft // 4 if not given; window: ones if not
        given; pad_mode: padding where center is true
    shapes: x: [n x] samples; window: win_length; the result: [n x] frequencies x windows x 2
    > table.concat(stft(ones(8), 4).shape, "x") --> 3x9x2
istft (see stft, fft.irfft)
    options: length: of the result; the others as of stft
    shapes: x: [n x] frequencies x windows x 2; the result: [n x] samples
    > istft(stft(ones(8), 4), 4) --> tensor({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, f32 8 cpu)
]==]
