--!plain
-- Public names of PyTorch 2.15, by the table that has them (dir() of each, without classes of the
-- compiler, of storages, of quantized and sparse types, and helpers of vendors' libraries): each is
-- a name here, too, or is answered with what to write instead. See tests/scripts/names.lua.
return {
    torch = "Generator abs abs_ absolute acos acos_ acosh acosh_ adaptive_avg_pool1d \z
        adaptive_max_pool1d add addbmm addcdiv addcmul addmm addmv addr adjoint \z
        affine_grid_generator all allclose alpha_dropout amax amin aminmax angle any \z
        arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan \z
        arctan2 arctan_ arctanh arctanh_ are_deterministic_algorithms_enabled argmax \z
        argmin argsort argwhere as_strided as_strided_scatter as_tensor asarray asin asin_ \z
        asinh asinh_ atan atan2 atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d \z
        avg_pool1d baddbmm bartlett_window batch_norm bernoulli bilinear \z
        binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift \z
        bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag \z
        bmm broadcast_shapes broadcast_tensors broadcast_to bucketize can_cast \z
        cartesian_prod cat cdist ceil ceil_ celu celu_ chain_matmul channel_shuffle \z
        cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ \z
        clamp_min clamp_min_ clip clip_ clone column_stack combinations compile complex \z
        concat concatenate cond conj conj_physical conj_physical_ constant_pad_nd conv1d \z
        conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d \z
        convolution copysign corrcoef cos cos_ cosh cosh_ cosine_embedding_loss \z
        cosine_similarity count_nonzero cov cross ctc_loss cummax cummin cumprod cumsum \z
        cumulative_trapezoid deg2rad deg2rad_ det detach detach_ device diag diag_embed \z
        diagflat diagonal diagonal_scatter diff digamma dist div divide dot dropout dsplit \z
        dstack dtype eig einsum embedding embedding_bag empty empty_like empty_permuted \z
        empty_strided enable_grad eq equal erf erf_ erfc erfc_ erfinv exp exp2 exp2_ exp_ \z
        expm1 expm1_ eye feature_alpha_dropout feature_dropout fill fill_ finfo fix fix_ \z
        flatten flip fliplr flipud float_power floor floor_ floor_divide fmax fmin fmod \z
        fork frac frac_ frexp frobenius_norm from_dlpack from_file from_numpy frombuffer \z
        full full_like gather gcd ge geqrf ger get_default_device get_default_dtype \z
        get_device get_device_module get_float32_matmul_precision get_num_interop_threads \z
        get_num_threads get_rng_state gradient greater greater_equal grid_sampler \z
        grid_sampler_2d grid_sampler_3d group_norm gru gru_cell gt hamming_window \z
        hann_window hardshrink heaviside hinge_embedding_loss histc histogram histogramdd \z
        hsplit hstack hypot i0 igamma igammac iinfo imag index_add index_copy index_fill \z
        index_put index_put_ index_reduce index_select inference_mode initial_seed inner \z
        instance_norm inverse is_anomaly_enabled is_complex is_conj is_floating_point \z
        is_grad_enabled is_inference is_inference_mode_enabled is_neg is_nonzero \z
        is_same_size is_signed is_tensor isclose isfinite isin isinf isnan isneginf \z
        isposinf isreal istft kaiser_window kl_div kron kthvalue layer_norm layout lcm \z
        ldexp le lerp less less_equal lgamma linspace load lobpcg log log10 log10_ log1p \z
        log1p_ log2 log2_ log_ log_softmax logaddexp logaddexp2 logcumsumexp logdet \z
        logical_and logical_not logical_or logical_xor logit logit_ logspace logsumexp \z
        lstm lstm_cell lstsq lt lu lu_solve lu_unpack manual_seed margin_ranking_loss \z
        masked_fill masked_scatter masked_select matmul matrix_exp matrix_power \z
        matrix_rank max max_pool1d max_pool1d_with_indices max_pool2d max_pool3d maximum \z
        mean median meshgrid min minimum mm mode moveaxis movedim msort mul multinomial \z
        multiply mv mvlgamma nan_to_num nan_to_num_ nanmean nanmedian nansum narrow ne neg \z
        neg_ negative negative_ nextafter no_grad nonzero nonzero_static norm \z
        norm_except_dim normal not_equal nuclear_norm numel ones ones_like orgqr ormqr \z
        outer pairwise_distance pca_lowrank pdist permute pinverse pixel_shuffle \z
        pixel_unshuffle poisson poisson_nll_loss polar polygamma positive pow prelu prod \z
        promote_types put qr rad2deg rad2deg_ rand rand_like randint randint_like randn \z
        randn_like randperm range ravel real reciprocal reciprocal_ relu relu_ remainder \z
        renorm repeat_interleave reshape resize_as_ resolve_conj resolve_neg result_type \z
        rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round round_ \z
        row_stack rrelu rrelu_ rsqrt rsqrt_ rsub scalar_tensor scatter scatter_add \z
        scatter_reduce searchsorted seed segment_reduce select select_scatter selu selu_ \z
        set_anomaly_enabled set_default_device set_default_dtype set_default_tensor_type \z
        set_float32_matmul_precision set_flush_denormal set_grad_enabled \z
        set_num_interop_threads set_num_threads set_printoptions set_rng_state sgn sigmoid \z
        sigmoid_ sign signbit sin sin_ sinc sinh sinh_ slice_scatter slogdet smm softmax \z
        solve sort split split_with_sizes sqrt sqrt_ square square_ squeeze stack std \z
        std_mean stft sub subtract sum svd svd_lowrank swapaxes swapdims symeig t take \z
        take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot threshold \z
        threshold_ tile to_dlpack topk trace transpose trapezoid trapz triangular_solve \z
        tril tril_indices triplet_margin_loss triu triu_indices true_divide trunc trunc_ \z
        typename unbind unflatten unique unique_consecutive unravel_index unsafe_chunk \z
        unsafe_split unsafe_split_with_sizes unsqueeze use_deterministic_algorithms vander \z
        var var_mean vdot view_as_complex view_as_real vmap vsplit vstack wait where \z
        while_loop xlogy xlogy_ zero_ zeros zeros_like",
    Tensor = "H T abs abs_ absolute absolute_ acos acos_ acosh acosh_ add add_ addbmm addbmm_ \z
        addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ adjoint all \z
        allclose amax amin aminmax angle any apply_ arccos arccos_ arccosh arccosh_ arcsin \z
        arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax \z
        argmin argsort argwhere as_strided as_strided_ as_strided_scatter as_subclass asin \z
        asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ backward baddbmm baddbmm_ \z
        bernoulli bernoulli_ bfloat16 bincount bitwise_and bitwise_and_ bitwise_left_shift \z
        bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ \z
        bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm bool \z
        broadcast_to byte cauchy_ cdouble ceil ceil_ cfloat chalf char cholesky \z
        cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min \z
        clamp_min_ clip clip_ clone coalesce conj conj_physical conj_physical_ contiguous \z
        copy_ copysign copysign_ corrcoef cos cos_ cosh cosh_ count_nonzero cov cpu cross \z
        cuda cummax cummin cumprod cumprod_ cumsum cumsum_ data data_ptr deg2rad deg2rad_ \z
        det detach detach_ device diag diag_embed diagflat diagonal diagonal_scatter diff \z
        digamma digamma_ dim dim_order dist div div_ divide divide_ dot double dsplit \z
        dtype eig element_size eq eq_ equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 \z
        exp2_ exp_ expand expand_as expm1 expm1_ exponential_ fill_ fill_diagonal_ fix \z
        fix_ flatten flip fliplr flipud float float_power floor floor_ floor_divide \z
        floor_divide_ fmax fmin fmod fmod_ frac frac_ frexp gather gcd ge ge_ geometric_ \z
        geqrf ger get_device grad grad_fn greater greater_ greater_equal greater_equal_ gt \z
        gt_ half hardshrink heaviside heaviside_ histc histogram hsplit hypot hypot_ i0 \z
        igamma igamma_ igammac igammac_ imag index index_add index_add_ index_copy \z
        index_copy_ index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ \z
        index_select indices inner int inverse ipu is_coalesced is_complex is_conj \z
        is_contiguous is_cpu is_cuda is_floating_point is_inference is_leaf is_meta is_mps \z
        is_neg is_nested is_nonzero is_pinned is_same_size is_set_to is_shared is_signed \z
        is_sparse is_xpu isclose isfinite isinf isnan isneginf isposinf isreal istft item \z
        itemsize kron kthvalue layout lcm ldexp ldexp_ le le_ lerp lerp_ less less_ \z
        less_equal less_equal_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ \z
        log_ log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and \z
        logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor \z
        logical_xor_ logit logit_ logsumexp long lstsq lt lt_ lu lu_solve mH mT map_ \z
        masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select matmul \z
        matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis \z
        movedim msort mul mul_ multinomial multiply multiply_ mv mvlgamma mvlgamma_ \z
        nan_to_num nan_to_num_ nanmean nanmedian nansum narrow nbytes ndim ndimension ne \z
        ne_ neg neg_ negative negative_ nelement new_empty new_empty_strided new_full \z
        new_ones new_tensor new_zeros nextafter nonzero nonzero_static norm normal_ \z
        not_equal not_equal_ numel numpy orgqr ormqr outer permute pin_memory pinverse \z
        polygamma polygamma_ positive pow pow_ prelu prod put put_ qr rad2deg rad2deg_ \z
        random_ ravel real reciprocal reciprocal_ record_stream register_hook \z
        register_post_accumulate_grad_hook relu relu_ remainder remainder_ renorm renorm_ \z
        repeat repeat_interleave requires_grad requires_grad_ reshape reshape_as resize \z
        resize_ resize_as resize_as_ resolve_conj resolve_neg retain_grad retains_grad \z
        roll rot90 round round_ rsqrt rsqrt_ scatter scatter_ scatter_add scatter_add_ \z
        scatter_reduce scatter_reduce_ select select_scatter set_ sgn sgn_ shape \z
        share_memory_ short sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh \z
        sinh_ size slice_scatter slogdet smm softmax solve sort split split_with_sizes \z
        sqrt sqrt_ square square_ squeeze squeeze_ std stft storage storage_offset stride \z
        sub sub_ subtract subtract_ sum sum_to_size svd swapaxes swapaxes_ swapdims \z
        swapdims_ symeig t t_ take take_along_dim tan tan_ tanh tanh_ tensor_split tile to \z
        to_dense to_padded_tensor to_sparse tolist topk trace transpose transpose_ \z
        triangular_solve tril tril_ triu triu_ true_divide true_divide_ trunc trunc_ type \z
        type_as unbind unflatten unfold uniform_ unique unique_consecutive unsafe_chunk \z
        unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_ untyped_storage values \z
        var vdot view view_as vsplit where xlogy xlogy_ xpu zero_",
    nn = "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss \z
        AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d \z
        AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d \z
        Bilinear Buffer CELU CTCLoss ChannelShuffle CircularPad1d CircularPad2d \z
        CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Container Conv1d Conv2d \z
        Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss \z
        CosineSimilarity CrossEntropyLoss CrossMapLRN2d DataParallel Dropout Dropout1d \z
        Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold \z
        FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU GRUCell GaussianNLLLoss \z
        GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss \z
        Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d \z
        LPPool2d LPPool3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d \z
        LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d \z
        LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d \z
        LazyInstanceNorm3d LazyLinear LeakyReLU Linear LinearCrossEntropyLoss \z
        LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d \z
        MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish Module ModuleDict \z
        ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss \z
        MultiheadAttention NLLLoss NLLLoss2d PReLU PairwiseDistance Parameter \z
        ParameterDict ParameterList PixelShuffle PixelUnshuffle PoissonNLLLoss RMSNorm RNN \z
        RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d \z
        ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential \z
        SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus \z
        Softshrink Softsign SyncBatchNorm Tanh Tanhshrink Threshold Transformer \z
        TransformerDecoder TransformerDecoderLayer TransformerEncoder \z
        TransformerEncoderLayer TripletMarginLoss TripletMarginWithDistanceLoss Unflatten \z
        Unfold UninitializedBuffer UninitializedParameter Upsample UpsamplingBilinear2d \z
        UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d",
    F = "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d \z
        adaptive_max_pool1d_with_indices adaptive_max_pool2d \z
        adaptive_max_pool2d_with_indices adaptive_max_pool3d \z
        adaptive_max_pool3d_with_indices affine_grid alpha_dropout avg_pool1d avg_pool2d \z
        avg_pool3d batch_norm bilinear binary_cross_entropy \z
        binary_cross_entropy_with_logits celu celu_ channel_shuffle conv1d conv2d conv3d \z
        conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss \z
        cosine_similarity cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu \z
        elu_ embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d \z
        fractional_max_pool3d gaussian_nll_loss gelu glu grid_sample group_norm grouped_mm \z
        gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_ \z
        hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss \z
        layer_norm leaky_relu leaky_relu_ linear linear_cross_entropy local_response_norm \z
        log_softmax logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss \z
        max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d \z
        max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d mish mse_loss \z
        multi_head_attention_forward multi_margin_loss multilabel_margin_loss \z
        multilabel_soft_margin_loss nll_loss normalize one_hot pad pairwise_distance pdist \z
        pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 relu_ rms_norm \z
        rrelu rrelu_ scaled_dot_product_attention scaled_mm selu selu_ sigmoid silu \z
        smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink softsign tanh \z
        tanhshrink threshold threshold_ triplet_margin_loss \z
        triplet_margin_with_distance_loss unfold upsample upsample_bilinear \z
        upsample_nearest",
    optim = "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam \z
        RMSprop Rprop SGD SparseAdam",
    lr = "ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR \z
        ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR MultiplicativeLR \z
        OneCycleLR Optimizer PolynomialLR ReduceLROnPlateau SequentialLR StepLR",
    utils = "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ \z
        fuse_conv_bn_eval fuse_linear_bn_eval get_total_norm parameters_to_vector \z
        remove_spectral_norm remove_weight_norm skip_init spectral_norm \z
        vector_to_parameters weight_norm",
    init = "calculate_gain constant constant_ dirac dirac_ eye eye_ kaiming_normal \z
        kaiming_normal_ kaiming_uniform kaiming_uniform_ normal normal_ ones_ orthogonal \z
        orthogonal_ sparse trunc_normal_ uniform uniform_ xavier_normal xavier_normal_ \z
        xavier_uniform xavier_uniform_ zeros_",
    linalg = "LinAlgError cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh \z
        householder_product inv inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu \z
        lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power \z
        matrix_rank matrix_sqrth multi_dot norm pinv polar qr slogdet solve solve_ex \z
        solve_triangular svd svdvals tensorinv tensorsolve vander vecdot vector_norm",
    fft = "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft \z
        ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn",
    special = "digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln i0 \z
        i0e i1 i1e log1p log_ndtr log_softmax logit logsumexp multigammaln ndtr ndtri \z
        polygamma psi round sinc softmax xlog1py xlogy zeta",
    data = "BatchSampler ChainDataset ConcatDataset DataLoader Dataset DistributedSampler \z
        IterDataPipe IterableDataset MapDataPipe RandomSampler Sampler SequentialSampler \z
        StackDataset Subset SubsetRandomSampler TensorDataset WeightedRandomSampler \z
        default_collate default_convert get_worker_info random_split",
}
